/**
 * Ids of pods with user namespaces. Owns: which pod has which range, in memory and in the pod's folder.
 * Invariants: no two pods have ids in common; a pod keeps its range over restarts of the agent until
 * nothing of it runs.
 */
import type { KubeletConfig } from "../../../config/kubelet-config.ts";
import { messageOf, OutsideError, UsageError } from "../../../kit/errors.ts";
import type { StateFile, StateFiles } from "../../../kit/state/state-files.ts";
import { type Files, type Host, PROGRAM_FOLDERS } from "../../../outside/host/host.ts";
import {
  defaultRange,
  formatMappings,
  type IdRange,
  parseMappings,
  parseSubIds,
  rangeFault,
  withoutLast,
} from "./id-ranges.ts";

/** Folder of the recorded ranges and the ID space they are allocated from. */
interface UserNamespaceOptions {
  /** Folder of the pods' folders. */
  readonly podsFolder: string;
  readonly range: IdRange;
  readonly idsPerPod: number;
}

interface UserNamespaceDeps {
  readonly files: Files;
  readonly state: StateFiles;
}

const FILE = "userns";
const FILE_MODE = 0o600;
/** Largest file that is read. */
const MAX_BYTES = 64 * 1024;

/** The ranges of all pods; see above. */
export class UserNamespaces {
  readonly #options: UserNamespaceOptions;
  readonly #deps: UserNamespaceDeps;
  readonly #firstOf = new Map<string, number>();
  readonly #taken = new Set<number>();

  constructor(options: UserNamespaceOptions, deps: UserNamespaceDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /**
   * Takes note of what pods had before the agent was started. A file that cannot be used stays where it is:
   * its pod may run with ids recorded nowhere else, and must not get others.
   */
  async open(): Promise<void> {
    const { state } = this.#deps;
    for (const { name } of await state.list(stateFile(this.#options.podsFolder))) {
      const why = await this.#adopt(name).catch(messageOf);
      if (why !== undefined) state.note(this.#file(name), { kind: "refused", why });
    }
  }

  /** Why the pod's file cannot be used; `undefined` when it can, or is missing. */
  async #adopt(uid: string): Promise<string | undefined> {
    const text = await this.#read(uid);
    const found = text === undefined ? undefined : this.#record(uid, text);
    return typeof found === "string" ? found : undefined;
  }

  /** The pod's ids, given to it now if it has none. Throws `OutsideError`. */
  async rangeOf(uid: string): Promise<IdRange> {
    const { idsPerPod } = this.#options;
    const known = this.#firstOf.get(uid);
    const text = await this.#read(uid);
    if (known !== undefined && text !== undefined) return { first: known, length: idsPerPod };
    if (text !== undefined) {
      const found = this.#record(uid, text);
      if (typeof found !== "string") return found;
      throw new OutsideError("precondition", `user namespace: ${found}`);
    }
    let first = known ?? this.#free();
    if (first === undefined) {
      await this.#dropVanished();
      first = this.#free();
    }
    if (first === undefined) {
      const why = "could not find an empty slot to allocate a user namespace";
      throw new OutsideError("exhausted", `create user namespace: ${why}`);
    }
    this.#take(uid, first);
    const range = { first, length: idsPerPod };
    try {
      const content = formatMappings(range);
      await this.#deps.state.write(this.#file(uid), content, FILE_MODE);
    } catch (error) {
      this.#drop(uid);
      throw error;
    }
    return range;
  }

  /** The pod has no processes and no volumes any more: its ids may go to another one. */
  async release(uid: string): Promise<void> {
    if (!this.#firstOf.has(uid)) return;
    await this.#deps.state.remove(this.#file(uid));
    this.#drop(uid);
  }

  #file(uid: string): StateFile {
    return stateFile(`${this.#options.podsFolder}/${uid}/${FILE}`);
  }

  #read(uid: string): Promise<string | undefined> {
    return this.#deps.files.readText(this.#file(uid).path, { maxBytes: MAX_BYTES });
  }

  #take(uid: string, first: number): void {
    this.#firstOf.set(uid, first);
    this.#taken.add(first);
  }

  #drop(uid: string): void {
    const first = this.#firstOf.get(uid);
    this.#firstOf.delete(uid);
    if (first !== undefined) this.#taken.delete(first);
  }

  /** Takes what a file says for the pod's; gives what is wrong with it otherwise. */
  #record(uid: string, text: string): IdRange | string {
    const { range, idsPerPod } = this.#options;
    const found = parseMappings(text);
    if ("fault" in found) return found.fault;
    const { first, length } = found;
    if (length !== idsPerPod) return `wrong user namespace length ${length}`;
    if (first % idsPerPod !== 0) return `wrong user namespace offset specified ${first}`;
    if (first < range.first || first + length > range.first + range.length)
      return `id ${first} is out of range`;
    if (this.#taken.has(first)) return `range picked for pod "${uid}" already taken`;
    this.#take(uid, first);
    return found;
  }

  #free(): number | undefined {
    const { range, idsPerPod } = this.#options;
    for (let first = range.first; first < range.first + range.length; first += idsPerPod)
      if (!this.#taken.has(first)) return first;
    return undefined;
  }

  /** Folders of orphans are removed without anybody asking here. */
  async #dropVanished(): Promise<void> {
    for (const uid of [...this.#firstOf.keys()])
      if ((await this.#read(uid)) === undefined) this.#drop(uid);
  }
}

function stateFile(path: string): StateFile {
  const holds =
    "the ids of a pod's user namespace; its containers keep running, a new sandbox waits";
  return { name: "user_namespace", path, holds, important: true };
}

/** Opens the user namespace ranges for this machine; throws `UsageError` when its ids cannot serve the node's pods. */
export async function openUserNamespaces(
  settings: {
    readonly config: Pick<KubeletConfig, "userNamespaces" | "maxPods">;
    readonly rootFolder: string;
  },
  {
    host,
    state,
  }: { readonly host: Pick<Host, "files" | "runProgram">; readonly state: StateFiles },
  signal: AbortSignal,
): Promise<UserNamespaces> {
  const { config, rootFolder } = settings;
  const range = await readIdRange(config, host, signal);
  const { idsPerPod } = config.userNamespaces;
  const options = { podsFolder: `${rootFolder}/pods`, range, idsPerPod };
  const opened = new UserNamespaces(options, { files: host.files, state });
  await opened.open();
  return opened;
}

/** User whose subordinate ids are given to pods. */
const USER = "kubelet";
const PROGRAM = "getsubids";
const PROGRAM_TIMEOUT_MS = 10_000;
const PROGRAM_OUTPUT_BYTES = 64 * 1024;
const PASSWD_MAX_BYTES = 1024 * 1024;

/**
 * The ids pods are given: the subordinate ids of the user `kubelet`, or all but the lowest where there is
 * no such user or no `getsubids`. Throws `UsageError` when they cannot serve the node's pods.
 */
async function readIdRange(
  { userNamespaces: { idsPerPod }, maxPods }: Pick<KubeletConfig, "userNamespaces" | "maxPods">,
  host: Pick<Host, "files" | "runProgram">,
  signal: AbortSignal,
): Promise<IdRange> {
  const found = await subordinateIds(host, signal);
  const range =
    found && !("fault" in found)
      ? withoutLast(found, idsPerPod)
      : (found ?? defaultRange(idsPerPod));
  const fault = "fault" in range ? range.fault : rangeFault(range, { idsPerPod, maxPods });
  if (fault !== undefined) throw new UsageError(`user namespaces: kubelet mappings: ${fault}`);
  return range as IdRange;
}

async function subordinateIds(
  { files, runProgram }: Pick<Host, "files" | "runProgram">,
  signal: AbortSignal,
): Promise<IdRange | { readonly fault: string } | undefined> {
  const users = await files.readText("/etc/passwd", { maxBytes: PASSWD_MAX_BYTES });
  if (!runProgram || !users?.split("\n").some((line) => line.startsWith(`${USER}:`)))
    return undefined;
  const program = await findProgram(files);
  if (program === undefined) return undefined;
  const ask = async (args: readonly string[]) => {
    const command = { path: program, args, env: {}, input: "" };
    const limits = { timeoutMs: PROGRAM_TIMEOUT_MS, maxOutputBytes: PROGRAM_OUTPUT_BYTES };
    return await runProgram({ ...command, ...limits }, signal);
  };
  const [ownUsers, groups] = [await ask([USER]), await ask(["-g", USER])];
  const failed = [ownUsers, groups].find(({ code }) => code !== 0);
  if (failed)
    return { fault: `error retrieving additional ids for user "${USER}": ${failed.stderr.trim()}` };
  if (ownUsers.stdout !== groups.stdout)
    return { fault: `mismatched subuids and subgids for user "${USER}"` };
  return parseSubIds(ownUsers.stdout);
}

async function findProgram(files: Files): Promise<string | undefined> {
  for (const folder of PROGRAM_FOLDERS) {
    const path = `${folder}/${PROGRAM}`;
    if (await files.facts(path, { follow: true })) return path;
  }
  return undefined;
}
