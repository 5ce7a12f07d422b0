import { Cell } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { Log } from "../../kit/log.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { FileFacts, Files, FolderEvent, PodFiles } from "../../outside/host/host.ts";
import type { ReadManifest } from "./manifest.ts";
import type { SourcedPod, SourceProblem } from "./merge.ts";
import { RecreatedFiles } from "./recreated-files.ts";

/** Manifests larger than this are refused unread; etcd would not take them either. */
const MAX_MANIFEST_BYTES = 1024 * 1024;
const TOO_LARGE = `is larger than the ${MAX_MANIFEST_BYTES} bytes a manifest may have; split it`;

/** Maximum manifests of one folder; the rest is rejected with one problem. */
const MAX_MANIFESTS = 1000;

/** Events kept until the folder is read. */
const MAX_EVENTS = 4096;

/** Location of the manifests. */
interface FileSourceOptions {
  /** A folder of manifests or one manifest. */
  readonly path: string;
  /** The folder is read again at least this often. */
  readonly everyMs: number;
}

interface FileSourceDeps {
  readonly files: Files;
  /** Says of all manifests at once which have not changed: one request instead of one for each. */
  readonly podFiles: Pick<PodFiles, "factsOfAll">;
  readonly clock: Clock;
  readonly log: Log;
  readonly readManifest: ReadManifest;
  /**
   * `pods`: absent while the path is one manifest that could not be used yet, which says nothing of its pods (as in the Go
   * kubelet). `recreated`: origins whose files were deleted and made again since the last call.
   */
  readonly onChange: (
    pods: readonly SourcedPod[] | undefined,
    problems: readonly SourceProblem[],
    recreated: ReadonlySet<string>,
  ) => void;
  /** Called whenever the folder was read as a whole. */
  readonly onRead: () => void;
}

/** Result of the last read of one manifest. */
interface Remembered {
  /** What the file was when it was read, and empty where it is to be read again. */
  readonly stamp: string;
  /** The last content that could be used; a broken edit does not end running pods. */
  readonly pods: readonly SourcedPod[];
  readonly problem: SourceProblem | undefined;
  /** It was written a moment ago and may be incomplete: nothing is reported before it was read again. */
  readonly unsettled?: boolean;
}

/** A manifest that cannot be used is read once more when it is older than this. */
const SETTLE_MS = 250;

/** A path that does not exist is checked so often. */
const MISSING_MS = 1_000;

/** What one pass over the manifests found. */
interface Pass {
  readonly manifests: readonly Remembered[];
  /** Problems beside those of single manifests. */
  readonly problems: readonly SourceProblem[];
  /** Paths of files that were deleted and made again. */
  readonly recreated: ReadonlySet<string>;
}

/** Reads the manifests of a folder, or one manifest, whenever it changes; run it with policy `restart`. */
export async function followFiles(
  options: FileSourceOptions,
  deps: FileSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  const source = new FileSource(options, deps, signal);
  await runControlLoop<Pass>(
    {
      name: "file source",
      wakeOn: [source.changes],
      everyMs: () => source.everyMs(),
      plan: () => source.read(),
      act: async (pass) => source.report(pass),
    },
    deps.clock.coalesced,
    signal,
  );
}

class FileSource {
  readonly changes = new Cell(0);
  readonly #options: FileSourceOptions;
  readonly #deps: FileSourceDeps;
  readonly #signal: AbortSignal;
  readonly #remembered = new Map<string, Remembered>();
  readonly #recreatedFiles = new RecreatedFiles();
  readonly #recreated = new Set<string>();
  #events: FolderEvent[] = [];
  #watched: string | undefined;
  #reported = false;
  /** What the path holds was usable once; of a folder, each manifest counts by itself. */
  #isKnown = false;
  #unsettled = false;

  constructor(options: FileSourceOptions, deps: FileSourceDeps, signal: AbortSignal) {
    this.#options = options;
    this.#deps = deps;
    this.#signal = signal;
  }

  everyMs(): number {
    if (this.#unsettled) return SETTLE_MS;
    const { everyMs } = this.#options;
    return this.#watched === undefined ? Math.min(MISSING_MS, everyMs) : everyMs;
  }

  async read(): Promise<Pass | undefined> {
    const { path } = this.#options;
    await this.#watch();
    const events = this.#events;
    this.#events = [];
    const before = new Set(this.#remembered.keys());
    const problems = await readAll(path, this.#remembered, this.#deps, this.#pathsOf(events));
    this.#deps.onRead();
    this.#noteRecreated(events, before);
    const manifests = [...this.#remembered.values()];
    this.#unsettled = manifests.some((manifest) => manifest.unsettled);
    // The first answer is the complete set of pods: it waits until every manifest is complete.
    if (this.#unsettled && !this.#reported) return undefined;
    const settled = [...this.#recreated].filter((at) => !this.#remembered.get(at)?.unsettled);
    for (const at of settled) this.#recreated.delete(at);
    return { manifests, problems, recreated: new Set(settled) };
  }

  report({ manifests, problems, recreated }: Pass): void {
    this.#reported = true;
    const isUsable = !this.#remembered.get(this.#options.path)?.problem;
    this.#isKnown ||= isUsable;
    this.#deps.onChange(
      this.#isKnown ? manifests.flatMap(({ pods }) => pods) : undefined,
      [...manifests.flatMap(({ problem }) => (problem ? [problem] : [])), ...problems],
      recreated,
    );
  }

  /** The path is never made: what is to be there, a folder or a file, is not ours to say. */
  async #watch(): Promise<void> {
    if (this.#watched !== undefined) return;
    const { path } = this.#options;
    const facts = await this.#deps.files.facts(path, { follow: true });
    if (!facts) return;
    this.#watched = facts.kind === "directory" ? path : parentOf(path);
    this.#deps.files.watchDirectory(
      this.#watched,
      (events = []) => {
        if (this.#events.length < MAX_EVENTS) appendAll(this.#events, events);
        this.changes.set(this.changes.get() + 1);
      },
      this.#signal,
    );
  }

  #pathsOf(events: readonly FolderEvent[]): ReadonlySet<string> {
    return new Set(events.map(({ name }) => `${this.#watched}/${name}`));
  }

  #noteRecreated(events: readonly FolderEvent[], before: ReadonlySet<string>): void {
    const namesOf = (paths: Iterable<string>) =>
      new Set([...paths].map((path) => path.slice(path.lastIndexOf("/") + 1)));
    const names = { before: namesOf(before), now: namesOf(this.#remembered.keys()) };
    const at = this.#deps.clock.monotonic();
    for (const name of this.#recreatedFiles.take(events, names, at))
      this.#recreated.add(`${this.#watched}/${name}`);
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";

/** Reads what is new, was changed, or is named by `changed`; returns problems of the path as a whole. */
async function readAll(
  path: string,
  remembered: Map<string, Remembered>,
  deps: FileSourceDeps,
  changed: ReadonlySet<string>,
): Promise<readonly SourceProblem[]> {
  const origins = await listManifests(path, deps.files);
  const taken = (origins ?? []).slice(0, MAX_MANIFESTS);
  for (const known of remembered.keys()) if (!taken.includes(known)) remembered.delete(known);
  // A clock may be too coarse to distinguish two changes: what was reported is read again in any case.
  for (const each of taken) {
    const before = remembered.get(each);
    if (before && changed.has(each)) remembered.set(each, { ...before, stamp: "" });
  }
  const unchanged = await unchangedOf(taken, remembered, deps);
  for (const origin of taken) {
    if (unchanged.has(origin)) continue;
    const before = remembered.get(origin);
    const now = await readOne(origin, before, deps);
    if (now) remembered.set(origin, now);
    else remembered.delete(origin);
  }
  if (!origins) return [{ origin: path, message: "does not exist; it is read as soon as it does" }];
  if (origins.length === taken.length) return [];
  const message = `contains ${origins.length} manifests; only the first ${MAX_MANIFESTS} by name are read`;
  return [{ origin: path, message }];
}

/** Those that are plain files and as they were. A link is read by itself: what it leads to may have changed. */
async function unchangedOf(
  origins: readonly string[],
  remembered: ReadonlyMap<string, Remembered>,
  { podFiles }: FileSourceDeps,
): Promise<ReadonlySet<string>> {
  const known = origins.filter((origin) => isSettled(remembered.get(origin)));
  if (known.length === 0) return new Set();
  try {
    const facts = await podFiles.factsOfAll(known);
    return new Set(
      known.filter((origin, i) => stampOf(facts[i]) === remembered.get(origin)?.stamp),
    );
  } catch {
    // Each is asked for on its own, which shows what is wrong with which.
    return new Set();
  }
}

function isSettled(before: Remembered | undefined): boolean {
  return before !== undefined && before.stamp !== "" && !before.unsettled;
}

/** What changes with the content of a file; empty where there is none. */
function stampOf(facts: FileFacts | undefined): string {
  return facts ? `${facts.kind} ${facts.sizeBytes} ${facts.modifiedMs} ${facts.version}` : "";
}

/** Paths of the manifests; `undefined` when there is neither a file nor a folder. */
async function listManifests(path: string, files: Files): Promise<readonly string[] | undefined> {
  const facts = await files.facts(path, { follow: true });
  if (facts?.kind === "file") return [path];
  const entries = await files.list(path);
  return entries
    ?.filter(({ name, kind }) => !name.startsWith(".") && kind !== "directory")
    .map(({ name }) => `${path}/${name}`);
}

/** Reads a manifest unless it is as it was; `undefined` when there is nothing to read. */
async function readOne(
  origin: string,
  before: Remembered | undefined,
  deps: FileSourceDeps,
): Promise<Remembered | undefined> {
  try {
    const facts = await deps.files.facts(origin, { follow: true });
    if (!facts) return await danglingLink(origin, deps.files);
    if (facts.kind === "directory") return undefined;
    const stamp = stampOf(facts);
    if (before?.stamp === stamp && !before.unsettled) return before;
    const refuse = (message: string) =>
      deps.clock.wall() - facts.modifiedMs < SETTLE_MS
        ? { stamp, pods: before?.pods ?? [], problem: before?.problem, unsettled: true }
        : refused(origin, stamp, before, message);
    if (facts.kind !== "file") return refuse("is not a regular file; put the manifest itself here");
    if (facts.sizeBytes > MAX_MANIFEST_BYTES) {
      return refuse(TOO_LARGE);
    }
    const text = await deps.files.readText(origin, { maxBytes: MAX_MANIFEST_BYTES });
    if (text === undefined) return undefined;
    const read = deps.readManifest(text, "file", origin);
    if (read.kind === "refused") return refuse(read.message);
    return { stamp, pods: read.pods, problem: undefined };
  } catch (error) {
    // It may have grown since stat.
    const message = isOutside(error, "exhausted") ? TOO_LARGE : messageOf(error);
    return refused(origin, "", before, message);
  }
}

/** A link to nothing has no pods, and says so; `undefined` when there is no link either. */
async function danglingLink(origin: string, files: Files): Promise<Remembered | undefined> {
  const facts = await files.facts(origin);
  if (facts?.kind !== "link") return undefined;
  const message = "is a link to a file that does not exist; remove it or make the file";
  return { stamp: "", pods: [], problem: { origin, message } };
}

function refused(
  origin: string,
  stamp: string,
  before: Remembered | undefined,
  message: string,
): Remembered {
  const kept = before?.pods ?? [];
  const consequence = kept.length > 0 ? " (the pods of its last valid content keep running)" : "";
  return { stamp, pods: kept, problem: { origin, message: `${message}${consequence}` } };
}
