import { Cell } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { runControlLoop } from "../../kit/loops/control-loop.ts";
import type { FileFacts, Files, PodFiles } from "../../outside/host/host.ts";
import type { ReadManifest } from "./manifest.ts";
import type { SourcedPod, SourceProblem } from "./merge.ts";

/** Manifests larger than this are refused unread; etcd would not take them either. */
const MAX_MANIFEST_BYTES = 1024 * 1024;
const TOO_LARGE = `is larger than the ${MAX_MANIFEST_BYTES} bytes a manifest may have; split it`;

/** Maximum manifests of one folder; the rest is rejected with one problem. */
const MAX_MANIFESTS = 1000;

/** Location of the manifests. */
export interface FileSourceOptions {
  /** A folder of manifests or one manifest. */
  readonly path: string;
  /** The folder is read again at least this often. */
  readonly everyMs: number;
}

/** Dependencies for following a folder. */
export interface FileSourceDeps {
  readonly files: Files;
  /** Says of all manifests at once which have not changed: one request instead of one for each. */
  readonly podFiles: Pick<PodFiles, "factsOfAll">;
  readonly clock: Clock;
  readonly log: Log;
  readonly readManifest: ReadManifest;
  readonly onChange: (pods: readonly SourcedPod[], problems: readonly SourceProblem[]) => void;
  /** Called whenever the folder was read as a whole. */
  readonly onRead: () => void;
}

/** Result of the last read of one manifest. */
interface Remembered {
  /** Size and time of the content that was read. */
  readonly stamp: string;
  /** The last content that could be used; a broken edit does not end running pods. */
  readonly pods: readonly SourcedPod[];
  readonly problem: SourceProblem | undefined;
  /** It was written a moment ago and may be incomplete: nothing is reported before it was read again. */
  readonly unsettled?: boolean;
}

/** A manifest that cannot be used is read once more when it is older than this. */
const SETTLE_MS = 250;

/** Reads the manifests of a folder whenever it changes; run it with policy `restart`. */
export async function followFiles(
  options: FileSourceOptions,
  deps: FileSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  const changes = new Cell(0);
  const remembered = new Map<string, Remembered>();
  let reported = false;
  let unsettled = false;
  const folder = await watchedFolder(options.path, deps.files);
  deps.files.watchDirectory(folder, () => changes.set(changes.get() + 1), signal);
  await runControlLoop<readonly Remembered[]>(
    {
      name: "file source",
      wakeOn: [changes],
      everyMs: () => (unsettled ? SETTLE_MS : options.everyMs),
      plan: async () => {
        await readAll(options.path, remembered, deps);
        deps.onRead();
        const all = [...remembered.values()];
        unsettled = all.some((manifest) => manifest.unsettled);
        // The first answer is the complete set of pods: it waits until every manifest is complete.
        return unsettled && !reported ? undefined : all;
      },
      act: async (all) => {
        reported = true;
        deps.onChange(
          all.flatMap(({ pods }) => pods),
          all.flatMap(({ problem }) => (problem ? [problem] : [])),
        );
      },
    },
    deps.clock.coalesced,
    signal,
  );
}

/** The folder to watch: the path itself, or the one that holds a single manifest. */
async function watchedFolder(path: string, files: Files): Promise<string> {
  const facts = await files.facts(path, { follow: true });
  return facts?.kind === "file" ? path.slice(0, path.lastIndexOf("/")) || "/" : path;
}

async function readAll(
  path: string,
  remembered: Map<string, Remembered>,
  deps: FileSourceDeps,
): Promise<void> {
  const origins = await listManifests(path, deps.files);
  for (const known of remembered.keys()) if (!origins.includes(known)) remembered.delete(known);
  const unchanged = await unchangedOf(origins.slice(0, MAX_MANIFESTS), remembered, deps);
  for (const origin of origins.slice(0, MAX_MANIFESTS)) {
    if (unchanged.has(origin)) continue;
    const before = remembered.get(origin);
    const now = await readOne(origin, before, deps);
    if (now) remembered.set(origin, now);
    else remembered.delete(origin);
  }
  if (origins.length > MAX_MANIFESTS) {
    const message = `contains ${origins.length} manifests; only the first ${MAX_MANIFESTS} by name are read`;
    remembered.set(path, { stamp: "", pods: [], problem: { origin: path, message } });
  }
}

/** Those that are plain files and as they were. A link is looked at by itself: what it leads to may have changed. */
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
  return facts ? `${facts.kind} ${facts.sizeBytes} ${facts.modifiedMs}` : "";
}

async function listManifests(path: string, files: Files): Promise<readonly string[]> {
  const facts = await files.facts(path, { follow: true });
  if (facts?.kind === "file") return [path];
  const entries = (await files.list(path)) ?? [];
  return entries
    .filter(({ name, kind }) => !name.startsWith(".") && kind !== "directory")
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
    if (!facts || facts.kind === "directory") return undefined;
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
