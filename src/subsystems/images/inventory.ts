/**
 * The images on the node, when each was first seen and last used. Owns: the records, their checkpoint, the
 * cached listing. In: listings of images and containers. Out: records for a collection. Invariant: a
 * record changes only after a complete listing; a listing that failed changes nothing.
 */
import { podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { normalImageName } from "../../api/text/image-reference.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import type { Log } from "../../kit/log.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import type { Container, Image, ImageService, RuntimeService } from "../../outside/cri/cri.ts";
import { decodeKept, encodeKept, type KeptImage, type RequestedImage } from "./checkpoint.ts";
import {
  detectImages,
  ImageIndex,
  type ImageRecord,
  type ImageUsers,
  type ListedImage,
} from "./image-record.ts";
import { runtimeImages } from "./sandbox-image.ts";
import { imagesInUse, imagesNamedBy, type UsingContainer } from "./users.ts";

/** Path of the checkpoint and bounds. */
interface InventoryOptions {
  readonly checkpointPath: string;
  /** How long it is remembered that a pod named an image. */
  readonly rememberRequestedMs: number;
}

interface InventoryDeps {
  readonly images: Pick<ImageService, "listImages">;
  readonly runtime: Pick<RuntimeService, "listContainers" | "containerStatus">;
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** Pods that have or may get containers. */
  readonly pods: () => readonly IdentifiedPod[];
  /** The runtime's description of itself (verbose status); absent where it has none. */
  readonly describeRuntime?: (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>;
}

/** A complete listing of images and their users. */
export interface ImageSnapshot {
  readonly beganMs: number;
  readonly records: ReadonlyMap<string, ImageRecord>;
  readonly users: ImageUsers;
  readonly index: ImageIndex;
}

const CHECKPOINT_MODE = 0o600;
const FOLDER_MODE = 0o700;
const MAX_CHECKPOINT_BYTES = 16 * 1024 * 1024;
/** Status calls under way at once. */
const STATUS_CALLS = 8;
/** Names of images that pods requested; the oldest are dropped first. */
const MAX_REQUESTED = 4096;

const POD_UID = "io.kubernetes.pod.uid";
const POD_NAME = "io.kubernetes.pod.name";
const POD_NAMESPACE = "io.kubernetes.pod.namespace";

/** See the head of this file. */
export class ImageInventory {
  readonly #options: InventoryOptions;
  readonly #deps: InventoryDeps;
  readonly #listing = new Cell<readonly ListedImage[]>([]);
  readonly #requested = new Map<string, RequestedImage>();
  /** Of a previous run, for images not seen yet in this one. */
  #kept: ReadonlyMap<string, KeptImage> = new Map();
  #records: ReadonlyMap<string, ImageRecord> = new Map();
  /** Images that containers mount, by container, as last seen. */
  readonly #mounts = new Map<string, readonly string[]>();
  /** Containers whose status failed, as last logged. */
  readonly #unclear = new Set<string>();
  #detected = false;
  #written = "";

  constructor(options: InventoryOptions, deps: InventoryDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** The images as last listed, largest first. */
  get listing(): Reading<readonly ListedImage[]> {
    return this.#listing;
  }

  /** The records as of the last complete listing. */
  get records(): ReadonlyMap<string, ImageRecord> {
    return this.#records;
  }

  /** Reads what a previous run has kept. A checkpoint that makes no sense is set aside. */
  async load(): Promise<void> {
    const { state, clock } = this.#deps;
    const kept = await state.read(this.#file, MAX_CHECKPOINT_BYTES, (text) => {
      const value = decodeKept(text, clock.wall());
      return value
        ? { kind: "read", value }
        : { kind: "broken", why: "it is not a checkpoint of images, or of an unknown version" };
    });
    if (!kept) return;
    this.#kept = kept.images;
    for (const [name, requested] of kept.requested) this.#requested.set(name, requested);
  }

  /** Lists images for the node's status; throws `OutsideError`. */
  async list(signal: AbortSignal): Promise<readonly ListedImage[]> {
    const listed = (await this.#deps.images.listImages(signal)).map(listedImage);
    this.#listing.set(listed.toSorted((a, b) => b.sizeBytes - a.sizeBytes));
    return listed;
  }

  /** Lists images and their users, and updates the records; throws `OutsideError`. */
  async detect(signal: AbortSignal): Promise<ImageSnapshot> {
    const { clock } = this.#deps;
    const beganMs = clock.wall();
    const all = await this.list(signal);
    const index = new ImageIndex(all);
    const own = await this.#runtimeImages(index, signal);
    const listed = all.map((image) => (own.has(image.id) ? { ...image, pinned: true } : image));
    const users = imagesInUse(await this.#containers(signal), index);
    this.#rememberRequested(beganMs);
    const known = this.#known(listed);
    this.#records = detectImages(known, { listed, users, beganMs, endedMs: clock.wall() });
    this.#detected = true;
    await this.save();
    return { beganMs, records: this.#records, users, index };
  }

  /** Notes how long the pull of an image took. */
  pulled(id: string, pullMs: number): void {
    const record = this.#records.get(id);
    if (record) this.#records = new Map(this.#records).set(id, { ...record, pullMs });
    else this.#kept = new Map(this.#kept).set(id, this.#newlyDetected(pullMs));
  }

  /** Drops the record of an image that was removed. */
  removed(id: string): void {
    const records = new Map(this.#records);
    records.delete(id);
    this.#records = records;
    this.#listing.set(this.#listing.get().filter((image) => image.id !== id));
  }

  /** The pod that last named any of these names, and when. */
  requestedAs(names: readonly string[]): RequestedImage | undefined {
    let latest: RequestedImage | undefined;
    for (const name of names) {
      const requested = this.#requested.get(normalImageName(name));
      if (requested && requested.atMs > (latest?.atMs ?? -1)) latest = requested;
    }
    return latest;
  }

  /** Writes the checkpoint when something changed; a disk that does not take it costs times, nothing else. */
  async save(): Promise<void> {
    const { state } = this.#deps;
    if (!this.#detected) return;
    const text = encodeKept({ images: this.#records, requested: this.#requested });
    if (text === this.#written) return;
    const { path } = this.#file;
    const folder = { ...this.#file, path: path.slice(0, path.lastIndexOf("/")) };
    await state.makeFolder(folder, FOLDER_MODE);
    try {
      await state.write(this.#file, text, CHECKPOINT_MODE);
      this.#written = text;
    } catch {
      // The state files report failed writes; the next listing retries them.
    }
  }

  get #file(): StateFile {
    const holds = "when images were first seen and last used; ages start over";
    return { name: "images", path: this.#options.checkpointPath, holds };
  }

  /** The sandbox image counts as pinned, whether the runtime reports it so or not. */
  async #runtimeImages(index: ImageIndex, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const description = (await this.#deps.describeRuntime?.(signal)) ?? {};
    const ids = runtimeImages(description).map((name) => index.idOf(name));
    return new Set(ids.filter((id) => id !== undefined));
  }

  #newlyDetected(pullMs: number): KeptImage {
    return { firstDetectedMs: this.#deps.clock.wall(), lastUsedMs: 0, pullMs };
  }

  /** The records so far, with what is known from before of images that have none yet. */
  #known(listed: readonly ListedImage[]): ReadonlyMap<string, ImageRecord> {
    if (this.#kept.size === 0) return this.#records;
    const known = new Map(this.#records);
    for (const image of listed) {
      const kept = this.#kept.get(image.id);
      if (kept && !known.has(image.id)) known.set(image.id, { ...image, ...kept });
    }
    this.#kept = new Map();
    return known;
  }

  #rememberRequested(nowMs: number): void {
    for (const pod of this.#deps.pods()) {
      const name = podDisplayName(pod);
      for (const image of imagesNamedBy(pod)) {
        const key = normalImageName(image);
        this.#requested.delete(key);
        this.#requested.set(key, { atMs: nowMs, pod: name });
      }
    }
    for (const [key, { atMs, pod }] of this.#requested) {
      const old = nowMs - atMs > this.#options.rememberRequestedMs;
      if (old || this.#requested.size > MAX_REQUESTED) this.#requested.delete(key);
      // The clock was set back: a time to come would keep the image for too long.
      else if (atMs > nowMs) this.#requested.set(key, { atMs: nowMs, pod });
    }
  }

  async #containers(signal: AbortSignal): Promise<readonly UsingContainer[]> {
    const listed = await this.#deps.runtime.listContainers({}, signal);
    const pods = new Map<string, IdentifiedPod>(
      this.#deps.pods().map((pod) => [pod.metadata.uid, pod]),
    );
    const ids = new Set(listed.map(({ id }) => id));
    for (const id of this.#mounts.keys()) if (!ids.has(id)) this.#mounts.delete(id);
    for (const id of this.#unclear) if (!ids.has(id)) this.#unclear.delete(id);
    const outcomes = await inParallel(listed, STATUS_CALLS, async (container) => {
      const pod = pods.get(container.labels[POD_UID] ?? "");
      const mounted = await this.#mountedBy(container, pod, signal);
      return { references: referencesOf(container), mounted, name: nameOf(container) };
    });
    return allValues(outcomes);
  }

  /**
   * Images that a container mounts. Only the full status shows them; most specs have none. If the status of a
   * container cannot be read, the images that it mounted before or that its pod names count as mounted:
   * it must neither lose an image nor stop the collection of all others.
   */
  async #mountedBy(
    { id }: Container,
    pod: IdentifiedPod | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const named = pod?.spec?.volumes?.flatMap(({ image }) => image?.reference ?? []);
    if (pod && (named ?? []).length === 0) return [];
    try {
      const { mounts } = await this.#deps.runtime.containerStatus(id, signal);
      const mounted = mounts.flatMap(({ image }) => (image?.image ? [image.image] : []));
      this.#mounts.set(id, mounted);
      this.#unclear.delete(id);
      return mounted;
    } catch (error) {
      // It went away since it was listed: then it mounts nothing either.
      if (isOutside(error, "notFound")) return [];
      if (!isOutside(error) || isOutside(error, "unavailable", "aborted")) throw error;
      if (!this.#unclear.has(id))
        this.#deps.log.warn("failed to determine which images a container mounts", {
          container: id,
          error,
        });
      this.#unclear.add(id);
      return this.#mounts.get(id) ?? named ?? [];
    }
  }
}

function listedImage({ id, repoTags, repoDigests, size, pinned }: Image): ListedImage {
  return { id, tags: repoTags, digests: repoDigests, sizeBytes: Number(size), pinned };
}

function referencesOf({ imageId, imageRef, image }: Container): readonly string[] {
  return [imageId, imageRef, image?.image ?? ""].filter((reference) => reference !== "");
}

function nameOf({ labels, metadata, id }: Container): string {
  const namespace = labels[POD_NAMESPACE];
  const pod = labels[POD_NAME];
  const container = metadata?.name ?? id;
  return pod === undefined ? container : `${namespace ?? ""}/${pod} (${container})`;
}
