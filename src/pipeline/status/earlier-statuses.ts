import type { PodUid } from "../../api/observation.ts";
import { isTree } from "../../kit/json.ts";
import type { DecodedState, StateFile, StateFiles } from "../../kit/state/state-files.ts";

const FILE = /^([A-Za-z0-9-]+)\.json$/;
const MAX_BYTES = 1024 * 1024;
const FORMAT = 1;

/** A status with the modification time of its file, in Unix milliseconds. */
interface EarlierStatus<T> {
  readonly value: T;
  readonly modifiedMs: number;
}

/** Statuses as earlier versions stored them: one file per pod. */
export class EarlierStatuses<T> {
  readonly #folder: string;
  readonly #state: StateFiles;
  readonly #decode: (value: unknown) => T | undefined;
  #files: readonly StateFile[] = [];

  /** `folder` has one file per pod; `decode` returns undefined for invalid content. */
  constructor(folder: string, state: StateFiles, decode: (value: unknown) => T | undefined) {
    this.#folder = folder;
    this.#state = state;
    this.#decode = decode;
  }

  /** Reads all statuses. Files that cannot be used are set aside. */
  async read(): Promise<ReadonlyMap<PodUid, EarlierStatus<T>>> {
    const found = new Map<PodUid, EarlierStatus<T>>();
    const files: StateFile[] = [];
    for (const { name } of await this.#state.list(stateFile(this.#folder))) {
      const uid = FILE.exec(name)?.[1] as PodUid | undefined;
      if (uid === undefined) continue;
      const file = stateFile(`${this.#folder}/${name}`);
      const value = await this.#state.read(file, MAX_BYTES, (text) => this.#parse(text));
      if (value === undefined) continue;
      found.set(uid, { value, modifiedMs: (await this.#state.modifiedMs(file)) ?? 0 });
      files.push(file);
    }
    this.#files = files;
    return found;
  }

  /** Removes the files that were read. */
  async remove(): Promise<void> {
    for (const file of this.#files) await this.#state.remove(file).catch(() => {});
  }

  #parse(text: string): DecodedState<T> {
    const content: unknown = JSON.parse(text);
    const format = isTree(content) ? content["format"] : undefined;
    if (format !== FORMAT)
      return { kind: "broken", why: `format ${format} is not known; this is ${FORMAT}` };
    const value = this.#decode(content);
    return value === undefined
      ? { kind: "broken", why: "it holds no status" }
      : { kind: "read", value };
  }
}

function stateFile(path: string): StateFile {
  const holds = "readiness, conditions and times of a pod from before the agent was started";
  return { name: "pod_status", path, holds };
}
