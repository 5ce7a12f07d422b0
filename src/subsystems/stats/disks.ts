import type { FsFigures, VolumeFigures } from "../../api/figures/figures.ts";
import { wallFromNanos } from "../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import { appendAll, smallest } from "../../kit/limits/lists.ts";
import type { Log } from "../../kit/log.ts";
import { NEVER_ABORTED, withTimeout } from "../../kit/within.ts";
import type { ContainerLayer, FilesystemUsage, ImageFilesystems } from "../../outside/cri/cri.ts";
import type { DiskUsage, Host, PodFiles } from "../../outside/host/host.ts";
import { groupByTime } from "./group-by-time.ts";
import { Latest } from "./latest.ts";
import type { MeasuredClaim, MeasuredPod } from "./pods.ts";
import { foldersOf, measuredVolumes } from "./volumes.ts";

export interface DisksDeps {
  readonly host: Pick<Host, "diskUsage"> & { readonly podFiles: Pick<PodFiles, "measureTrees"> };
  readonly runtime: {
    listContainerStats(signal: AbortSignal): Promise<readonly ContainerLayer[]>;
    filesystems(signal: AbortSignal): Promise<ImageFilesystems>;
  };
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** Which file system is the node's, and how often volumes are measured. */
interface DisksOptions {
  /** Folder whose file system is the node's. */
  readonly rootFolder: string;
  /** How old the size of a volume may be; not positive: volumes are not measured. */
  readonly volumesMaxAgeMs: number;
}

/** Maximum age of everything but volumes. */
const MAX_AGE_MS = 10_000;
/**
 * Time of a layer that the runtime reports without a time. containerd does so, with nothing used, until it has measured
 * the layer for the first time.
 */
const NOT_MEASURED = 0 as WallMs;
/** Most files counted in one volume or folder of logs. */
const MAX_ENTRIES = 1_000_000;
/** A call waits this long for sizes of folders; what takes longer is in the result of a later call. */
const TIMEOUT_MS = 1_000;

/**
 * For eviction, which measures every ten seconds: the size of a folder is kept for at least so many times as long as
 * measuring it took, so that at most a twentieth of the time is spent on one folder.
 */
const MIN_AGE_FACTOR = 20;

/** Folders that are measured at a time, each in a request of its own: one that hangs does not hold up the others. */
const ALONE_AT_A_TIME = 2;

/** A size with the time it was taken. */
interface Sized {
  readonly atMs: WallMs;
  readonly at: number;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  readonly device: number;
  /** How long measuring took. */
  readonly tookMs: number;
}

/** Usage of a whole file system with the time it was taken. */
interface Capacity {
  readonly at: number;
  readonly disk: DiskUsage;
}

/** The file systems of the node and of the runtime as a whole. */
interface NodeFilesystems {
  readonly node: FsFigures | undefined;
  readonly image: FsFigures | undefined;
  /** That of writable layers; the same as `image` unless the runtime reports one of their own. */
  readonly container: FsFigures | undefined;
}

/** Folders to be measured, and which of them are too old. */
interface Walk {
  /** Logs and managed files. */
  readonly written: readonly string[];
  readonly volumes: readonly string[];
  readonly writtenMaxAgeMs: number;
  readonly volumesMaxAgeMs: number;
  /** See `MIN_AGE_FACTOR`; 0 where age alone decides. */
  readonly minAgeFactor: number;
}

/**
 * Usage of file systems, writable layers, logs and volumes, each measured again when it is too old. Measuring folders
 * that takes longer than a caller waits goes on in the background.
 */
export class Disks {
  readonly #options: DisksOptions;
  readonly #deps: DisksDeps;
  readonly #sizes = new Map<string, Sized>();
  /** Folders that were not counted to their end, as last logged. */
  readonly #cutShort = new Set<string>();
  /** By device. */
  readonly #capacities = new Map<number, Capacity>();
  readonly #filesystems: Latest<NodeFilesystems>;
  /** Use of writable layers, by id of the container. */
  readonly #layers: Latest<ReadonlyMap<string, FsFigures>>;
  #walk: Promise<void> | undefined;
  #walkSome: Promise<unknown> | undefined;

  constructor(options: DisksOptions, deps: DisksDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#filesystems = new Latest(deps.clock, () => this.#measureFilesystems());
    this.#layers = new Latest(deps.clock, () => this.#measureLayers());
  }

  /** Measures everything that is too old; folders that take longer than a second are not waited for. */
  async refresh(pods: readonly MeasuredPod[]): Promise<void> {
    await Promise.all([this.#filesystems.refresh(MAX_AGE_MS), this.#layers.refresh(MAX_AGE_MS)]);
    this.#walk ??= this.#walkAll(pods).finally(() => {
      this.#walk = undefined;
    });
    await this.#waitAWhile(this.#walk);
  }

  /** Measures the file systems as a whole when they are too old; waits a second for it. */
  async refreshFilesystems(): Promise<void> {
    await this.#waitAWhile(this.#filesystems.refresh(MAX_AGE_MS));
  }

  /**
   * Measures what these pods take of local storage, where that is older than `maxAgeMs`: writable layers, logs, managed
   * files and ephemeral volumes. File systems as a whole are not measured. A folder that takes long is measured less often
   * (`MIN_AGE_FACTOR`).
   */
  async refreshLocalStorage(
    { pods, all }: { readonly pods: readonly MeasuredPod[]; readonly all: readonly MeasuredPod[] },
    maxAgeMs: number,
  ): Promise<void> {
    await this.#layers.refresh(Math.min(MAX_AGE_MS, maxAgeMs));
    this.#walkSome ??= this.#walkFolders({
      written: pods.flatMap(writtenPlaces),
      volumes: this.#measuresVolumes ? pods.flatMap(ephemeralFolders) : [],
      writtenMaxAgeMs: Math.min(MAX_AGE_MS, maxAgeMs),
      volumesMaxAgeMs: maxAgeMs,
      minAgeFactor: MIN_AGE_FACTOR,
    }).finally(() => {
      this.#walkSome = undefined;
      this.#forgetBut(all);
    });
    await this.#waitAWhile(this.#walkSome);
  }

  async #waitAWhile(walk: Promise<unknown>): Promise<void> {
    const timeout = { clock: this.#deps.clock, ms: TIMEOUT_MS };
    await withTimeout(timeout, NEVER_ABORTED, () => walk);
  }

  get #measuresVolumes(): boolean {
    return this.#options.volumesMaxAgeMs > 0;
  }

  get node(): FsFigures | undefined {
    return this.#filesystems.value?.node;
  }

  get image(): FsFigures | undefined {
    return this.#filesystems.value?.image;
  }

  /** The file system of writable layers. */
  get container(): FsFigures | undefined {
    return this.#filesystems.value?.container;
  }

  /** The writable layer of a container, with the file system that it lies on as that was measured last. */
  layer(containerId: string): FsFigures | undefined {
    const layer = this.#layers.value?.get(containerId);
    return layer && { ...this.container, ...layer };
  }

  /** The logs of a container, with the node's file system as it was measured last. */
  logs(pod: MeasuredPod, container: string): FsFigures | undefined {
    const size = this.#sizes.get(`${pod.logsFolder}/${container}`);
    return size && { ...this.node, ...used(size) };
  }

  /**
   * What containers of a pod take by the files that the agent keeps for them, on the node's file system (CVE-2020-8557);
   * `undefined` until one of them was measured.
   */
  managedFiles({ managedFiles }: MeasuredPod): FsFigures | undefined {
    const sizes = managedFiles.flatMap((path) => this.#sizes.get(path) ?? []);
    if (sizes.length === 0) return undefined;
    const sum = (of: "usedBytes" | "inodesUsed") => sizes.reduce((all, size) => all + size[of], 0);
    const atMs = smallest(sizes.map((size) => size.atMs)) as WallMs;
    return { ...this.node, atMs, usedBytes: sum("usedBytes"), inodesUsed: sum("inodesUsed") };
  }

  /** The volumes of a pod, as far as they were measured. */
  volumes(pod: MeasuredPod): readonly VolumeFigures[] {
    if (!this.#measuresVolumes) return [];
    return [...this.#folders(pod), ...pod.claims.map(claimFigures)];
  }

  #folders(pod: MeasuredPod): readonly VolumeFigures[] {
    const { volumes } = foldersOf(pod);
    return measuredVolumes(pod.pod).flatMap(({ name, ephemeral }, i) => {
      const size = this.#sizes.get(volumes[i] ?? "");
      const disk = size && this.#capacities.get(size.device)?.disk;
      return size ? [{ name, ephemeral, fs: { ...disk, ...used(size) } }] : [];
    });
  }

  async #measureFilesystems(): Promise<NodeFilesystems> {
    const { clock, host, signal } = this.#deps;
    const atMs = clock.wall();
    const [disk, found] = await Promise.all([
      this.#tolerant("disk of the node", host.diskUsage(this.#options.rootFolder)),
      this.#tolerant("file systems of the runtime", this.#deps.runtime.filesystems(signal)),
    ]);
    const image = await this.#runtimeFs(found?.images[0], atMs);
    const [layersFs] = found?.containers ?? [];
    const container = layersFs ? await this.#runtimeFs(layersFs, atMs) : image;
    return { node: disk && diskFigures(disk, atMs), image, container };
  }

  async #measureLayers(): Promise<ReadonlyMap<string, FsFigures>> {
    const { runtime, signal } = this.#deps;
    const stats = await this.#tolerant("layers of the runtime", runtime.listContainerStats(signal));
    const layers = (stats ?? []).flatMap(({ attributes, writableLayer }) =>
      attributes && writableLayer
        ? [[attributes.id, usedOf(writableLayer, NOT_MEASURED)] as const]
        : [],
    );
    return new Map(layers);
  }

  async #runtimeFs(
    usage: FilesystemUsage | undefined,
    atMs: WallMs,
  ): Promise<FsFigures | undefined> {
    const mountpoint = usage?.fsId?.mountpoint ?? "";
    if (!usage || mountpoint === "") return undefined;
    const disk = await this.#tolerant("disk of the runtime", this.#deps.host.diskUsage(mountpoint));
    return { ...(disk ? diskFigures(disk, atMs) : {}), ...usedOf(usage, atMs) };
  }

  /** Measures the folders of all pods, and forgets those of pods that are gone. */
  async #walkAll(pods: readonly MeasuredPod[]): Promise<void> {
    const volumes = this.#measuresVolumes ? pods.flatMap(volumeFolders) : [];
    await this.#walkFolders({
      written: pods.flatMap(writtenPlaces),
      volumes,
      writtenMaxAgeMs: MAX_AGE_MS,
      volumesMaxAgeMs: this.#options.volumesMaxAgeMs,
      minAgeFactor: 0,
    });
    this.#forgetBut(pods);
    await this.#measureCapacities(volumes);
  }

  /** Measures what is too old: together what takes little, alone what takes long or is measured for the first time. */
  async #walkFolders({
    written,
    volumes,
    writtenMaxAgeMs,
    volumesMaxAgeMs,
    minAgeFactor,
  }: Walk): Promise<void> {
    const now = this.#deps.clock.monotonic();
    const isDue = (path: string, maxAgeMs: number) => {
      const known = this.#sizes.get(path);
      return !known || now - known.at >= Math.max(maxAgeMs, minAgeFactor * known.tookMs);
    };
    const due = [
      ...written.filter((path) => isDue(path, writtenMaxAgeMs)),
      ...volumes.filter((path) => isDue(path, volumesMaxAgeMs)),
    ];
    const alone: string[] = [];
    for (const paths of groupByTime(due, (path) => this.#sizes.get(path)?.tookMs)) {
      const isMeasured = paths.length > 1 && (await this.#measure(paths));
      if (!isMeasured) appendAll(alone, paths);
    }
    allValues(await inParallel(alone, ALONE_AT_A_TIME, (path) => this.#measure([path])));
  }

  /** Asks once for each device that the folders lie on, where what is known is too old. */
  async #measureCapacities(folders: readonly string[]): Promise<void> {
    const now = this.#deps.clock.monotonic();
    const devices = new Map<number, string>();
    for (const path of folders) {
      const device = this.#sizes.get(path)?.device;
      if (device !== undefined && !devices.has(device)) devices.set(device, path);
    }
    for (const device of this.#capacities.keys())
      if (!devices.has(device)) this.#capacities.delete(device);
    for (const [device, path] of devices) {
      const known = this.#capacities.get(device);
      if (known && now - known.at < this.#options.volumesMaxAgeMs) continue;
      const disk = await this.#tolerant("disk of a volume", this.#deps.host.diskUsage(path));
      if (disk) this.#capacities.set(device, { at: now, disk });
    }
  }

  #forgetBut(pods: readonly MeasuredPod[]): void {
    const there = new Set(pods.flatMap((pod) => [...writtenPlaces(pod), ...volumeFolders(pod)]));
    for (const path of this.#sizes.keys()) if (!there.has(path)) this.#sizes.delete(path);
    for (const path of this.#cutShort) if (!there.has(path)) this.#cutShort.delete(path);
  }

  /** Measures folders in one request; whether it was answered. Of several nothing is forgotten when it was not. */
  async #measure(paths: readonly string[]): Promise<boolean> {
    const { clock, host, log, signal } = this.#deps;
    // Taken before: what is written while the walk goes on may be missing in it.
    const [at, atMs] = [clock.monotonic(), clock.wall()];
    const limits = { maxEntries: MAX_ENTRIES };
    const what = paths.length === 1 ? (paths[0] ?? "") : `${paths.length} folders`;
    const trees = await this.#tolerant(what, host.podFiles.measureTrees(paths, limits, signal));
    if (!trees && paths.length > 1) return false;
    for (const [i, path] of paths.entries()) {
      const tree = trees?.[i];
      if (tree?.kind !== "measured") this.#sizes.delete(path);
      else {
        const { inodes: inodesUsed, complete, ...size } = tree.size;
        this.#sizes.set(path, { at, atMs, inodesUsed, ...size });
        if (!complete) this.#warnOfCut(path, inodesUsed);
      }
      if (tree?.kind === "failed")
        log.verbose(2, "failed to measure disk usage", { what: path, error: tree.message });
    }
    return trees !== undefined;
  }

  /** Once for each folder: it may take more of the disk than its limits are compared with. */
  #warnOfCut(path: string, counted: number): void {
    if (this.#cutShort.has(path)) return;
    this.#cutShort.add(path);
    this.#deps.log.warn("a folder of a pod takes more of the disk than was measured", {
      path,
      counted,
    });
  }

  /** Result of `work`; undefined when it fails, so that other measurements are still reported. */
  async #tolerant<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!isOutside(error) && !this.#deps.signal.aborted) throw error;
      this.#deps.log.verbose(2, "failed to measure disk usage", {
        what,
        error,
      });
      return undefined;
    }
  }
}

const writtenPlaces = (pod: MeasuredPod) => foldersOf(pod).written;
const volumeFolders = (pod: MeasuredPod) => foldersOf(pod).volumes;
const ephemeralFolders = (pod: MeasuredPod) => foldersOf(pod).ephemeral;

function used({ atMs, usedBytes, inodesUsed }: Sized): FsFigures {
  return { atMs, usedBytes, inodesUsed };
}

function claimFigures({ namespace, name, volume, usage, atMs }: MeasuredClaim): VolumeFigures {
  const fs = "inodes" in usage ? diskFigures(usage, atMs) : { atMs, ...usage };
  return { name: volume, ephemeral: false, claim: { namespace, name }, fs };
}

/** Usage of a whole file system. */
function diskFigures(disk: DiskUsage, atMs: WallMs): FsFigures {
  return {
    atMs,
    ...disk,
    usedBytes: disk.capacityBytes - disk.availableBytes,
    inodesUsed: disk.inodes - disk.inodesFree,
  };
}

function usedOf(usage: FilesystemUsage, atMs: WallMs): FsFigures {
  const { timestamp, usedBytes, inodesUsed } = usage;
  return {
    atMs: timestamp > 0n ? wallFromNanos(timestamp) : atMs,
    ...(usedBytes ? { usedBytes: Number(usedBytes.value) } : {}),
    ...(inodesUsed ? { inodesUsed: Number(inodesUsed.value) } : {}),
  };
}
