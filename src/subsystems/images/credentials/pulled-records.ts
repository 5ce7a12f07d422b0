/**
 * The records of pulls on disk, below `image_manager/` of the root folder as the Go kubelet has them. Owns:
 * those files. In: pulls that begin and end. Out: whether a pod may use an image that is there. Invariant: an
 * image of which nothing is known, or whose record cannot be read, counts as one that has to be asked for.
 */

import { isSameImage } from "../../../api/text/image-reference.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { DecodedState, StateFile, StateFiles } from "../../../kit/state/state-files.ts";
import { sha256Hex } from "../../../outside/digest.ts";
import { writtenRepository } from "../image-names.ts";
import type { ListedImage } from "../image-record.ts";
import { ImageIndex } from "../image-record.ts";
import {
  checkAccess,
  decodeIntent,
  decodeRecord,
  encodeIntent,
  encodeRecord,
  type ImageAccess,
  needsVerification,
  type PulledRecord,
  type PullingAccount,
  type PullingSecret,
  type VerificationPolicy,
  withAccess,
} from "./pulled-record.ts";

/** Folder of the records and verification policy of the node. */
interface PulledRecordsOptions {
  /** `<root-dir>/image_manager`. */
  readonly folder: string;
  /** Without a policy nothing is kept and every image may be used. */
  readonly policy: VerificationPolicy | undefined;
  readonly allowlist: readonly string[];
}

interface PulledRecordsDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with what each check of `mayUse` says, in the Go kubelet's words. */
  readonly onCheck?: (result: PullCheck) => void;
}

/** Why a pod may use an image that is there, or may not. */
type PullCheck = "credentialPolicyAllowed" | "credentialRecordFound" | "mustAuthenticate";

/** Credentials of a pod; resolved only when needed. */
interface PullingIdentity {
  readonly secrets: () => Promise<readonly PullingSecret[]>;
  readonly account: () => Promise<PullingAccount | undefined>;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const MAX_RECORD_BYTES = 1024 * 1024;
const FILE_NAME = /^sha256-[0-9a-f]{64}$/;
/** Records read at most. */
const MAX_RECORDS = 100_000;
/** By then a runtime has finished a pull that an earlier agent requested. */
const INHERITED_MS = 24 * 3_600_000;

/** See the head of this file. */
export class PulledRecords {
  readonly #options: PulledRecordsOptions;
  readonly #deps: PulledRecordsDeps;
  readonly #records = new Map<string, PulledRecord>();
  /** Images whose record could not be written as it is now. */
  readonly #unwritten = new Set<string>();
  /** How many pulls are under way, by image as the pod names it. */
  readonly #intents = new Map<string, number>();
  /**
   * Images whose pull a previous run began, and may have finished. What later becomes of another pull says nothing
   * about that one: only a record takes their place.
   */
  readonly #inherited = new Set<string>();
  #loadedAtMs = 0;

  constructor(options: PulledRecordsOptions, deps: PulledRecordsDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /**
   * Makes the folders, as the Go kubelet at its start, and reads what is on disk; what cannot be read is set aside and
   * counts as not there.
   */
  async load(): Promise<void> {
    if (!this.#options.policy) return;
    for (const kind of ["pulling", "pulled"] as const)
      await this.#deps.state.makeFolder(this.#file(kind), FOLDER_MODE);
    for (const record of await this.#readAll("pulled", decodeRecord))
      this.#records.set(record.imageRef, record);
    for (const image of await this.#readAll("pulling", decodeIntent)) this.#inherited.add(image);
    this.#loadedAtMs = this.#deps.clock.monotonic();
  }

  /**
   * Pulls that a previous run began and the runtime has finished leave an image of which is only known
   * that this node pulled it; from now on it has to be asked for. To be called with every listing: the runtime may
   * still be at it.
   */
  async settleIntents(listed: readonly ListedImage[]): Promise<void> {
    if (this.#inherited.size === 0) return;
    const index = new ImageIndex(listed);
    const isOver = this.#deps.clock.monotonic() - this.#loadedAtMs >= INHERITED_MS;
    for (const image of [...this.#inherited]) {
      const id = index.idOf(image);
      const isSettled = id === undefined ? isOver : await this.#put(id, image, undefined);
      if (!isSettled) continue;
      this.#inherited.delete(image);
      await this.#dropNote(image);
    }
  }

  /** A pull begins. Throws `OutsideError` when that cannot be written: without the note nothing is pulled. */
  async began(image: string): Promise<void> {
    if (!this.#options.policy) return;
    // Counted first, so that another pull that ends now does not remove the record of the intent.
    this.#intents.set(image, (this.#intents.get(image) ?? 0) + 1);
    try {
      await this.#write("pulling", image, encodeIntent(image));
    } catch (error) {
      await this.#ended(image);
      throw error;
    }
  }

  /** A pull failed. */
  async failed(image: string): Promise<void> {
    if (this.#options.policy) await this.#ended(image);
  }

  /** A pull succeeded; `access` is who may use the image from now on. */
  async pulled(image: string, imageRef: string, access: ImageAccess): Promise<void> {
    if (!this.#options.policy) return;
    // Without the record the note stays, so that the image still counts as pulled by this node.
    // Also with access that is known: the time says that the image came again, so that no pruning takes its record.
    if (!(await this.#put(imageRef, image, access, true))) return;
    this.#inherited.delete(image);
    await this.#ended(image);
  }

  /** Whether the pod may use an image that is there, without pulling it. */
  async mayUse(image: string, imageRef: string, pod: PullingIdentity): Promise<boolean> {
    const result = await this.#check(image, imageRef, pod);
    this.#deps.onCheck?.(result);
    return result !== "mustAuthenticate";
  }

  async #check(image: string, imageRef: string, pod: PullingIdentity): Promise<PullCheck> {
    const record = this.#records.get(imageRef);
    const repository = writtenRepository(image);
    const pulledByNode = record !== undefined || this.#isNoted(image);
    const { policy, allowlist } = this.#options;
    if (!policy) return "credentialPolicyAllowed";
    if (!needsVerification(policy, allowlist, { repository, pulledByNode }))
      return "credentialPolicyAllowed";
    if (!record) return "mustAuthenticate";
    const access = Object.hasOwn(record.access, repository) ? record.access[repository] : undefined;
    if (!access) return "mustAuthenticate";
    if (access.nodePodsAccessible === true) return "credentialRecordFound";
    const ofAccounts = (access.kubernetesServiceAccounts ?? []).length > 0;
    const account = ofAccounts ? await pod.account() : undefined;
    const verdict = checkAccess(access, await pod.secrets(), account);
    if (verdict.learn) await this.#put(imageRef, image, { kubernetesSecrets: [verdict.learn] });
    return verdict.allowed ? "credentialRecordFound" : "mustAuthenticate";
  }

  /** Whether a pull of the image was begun, in whichever spelling: a note says only that it came from a registry. */
  #isNoted(image: string): boolean {
    const noted = [...this.#intents.keys(), ...this.#inherited];
    return noted.some((name) => isSameImage(name, image));
  }

  /** Drops records of images that are gone, unless they were written after `beforeMs`. */
  async prune(present: ReadonlySet<string>, beforeMs: number): Promise<void> {
    for (const imageRef of [...this.#records.keys()]) {
      // Read now: the image may have been pulled again while files of others were removed.
      const record = this.#records.get(imageRef);
      if (!record || present.has(imageRef) || record.lastUpdatedMs >= beforeMs) continue;
      this.#records.delete(imageRef);
      this.#unwritten.delete(imageRef);
      await this.#remove("pulled", imageRef);
    }
  }

  /** How many records there are, and how many pulls are noted. */
  get sizes(): { readonly pulled: number; readonly pulling: number; readonly most: number } {
    const pulling = new Set([...this.#intents.keys(), ...this.#inherited]).size;
    return { pulled: this.#records.size, pulling, most: MAX_RECORDS };
  }

  /** Adds to a record; whether it is on disk then. What changes nothing is written only with `renew`. */
  async #put(
    imageRef: string,
    image: string,
    access: ImageAccess | undefined,
    renew = false,
  ): Promise<boolean> {
    const now = this.#deps.clock.wall();
    const before = this.#records.get(imageRef);
    const blank: PulledRecord = { imageRef, lastUpdatedMs: now, access: {} };
    const merged = withAccess(before ?? blank, writtenRepository(image), access, now);
    const next = renew ? { ...merged, lastUpdatedMs: now } : merged;
    if (next === before && !this.#unwritten.has(imageRef)) return true;
    this.#records.set(imageRef, next);
    this.#unwritten.add(imageRef);
    try {
      await this.#write("pulled", imageRef, encodeRecord(next));
      this.#unwritten.delete(imageRef);
      return true;
    } catch (error) {
      this.#deps.log.warn("failed to record who pulled an image", { image, error });
      return false;
    }
  }

  async #ended(image: string): Promise<void> {
    const left = (this.#intents.get(image) ?? 1) - 1;
    if (left > 0) this.#intents.set(image, left);
    else this.#intents.delete(image);
    await this.#dropNote(image);
  }

  /** Removes the file of a note that nothing speaks for any more. */
  async #dropNote(image: string): Promise<void> {
    if (this.#intents.has(image) || this.#inherited.has(image)) return;
    await this.#remove("pulling", image);
  }

  async #write(kind: "pulling" | "pulled", key: string, text: string): Promise<void> {
    const file = this.#file(kind, `sha256-${sha256Hex(key)}`);
    await this.#deps.state.write(file, text, FILE_MODE);
  }

  async #remove(kind: "pulling" | "pulled", key: string): Promise<void> {
    // The state files report failed removals.
    await this.#deps.state.remove(this.#file(kind, `sha256-${sha256Hex(key)}`)).catch(() => {});
  }

  async #readAll<T>(
    kind: "pulling" | "pulled",
    decode: (text: string) => T | undefined,
  ): Promise<readonly T[]> {
    const { state } = this.#deps;
    const found: T[] = [];
    const decoded = (text: string): DecodedState<T> => {
      const value = decode(text);
      return value === undefined
        ? { kind: "broken", why: "it is not a record of a pull, or of an unknown version" }
        : { kind: "read", value };
    };
    for (const { name } of (await state.list(this.#file(kind))).slice(0, MAX_RECORDS)) {
      if (!FILE_NAME.test(name)) continue;
      const value = await state.read(this.#file(kind, name), MAX_RECORD_BYTES, decoded);
      if (value !== undefined) found.push(value);
    }
    return found;
  }

  /** The folder of a kind of records, or one of its files. */
  #file(kind: "pulling" | "pulled", name?: string): StateFile {
    const folder = `${this.#options.folder}/${kind}`;
    const path = name === undefined ? folder : `${folder}/${name}`;
    return { name: "image_manager", path, holds: "credentials that images were pulled with" };
  }
}
