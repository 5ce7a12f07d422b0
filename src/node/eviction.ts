/** Connects eviction to what it measures and acts through. */
import type { MachineFigures, PodFigures, PodStorage } from "../api/figures/figures.ts";
import type { PodUid } from "../api/observation.ts";
import type { PodNews } from "../api/pod-news.ts";
import type { Decisions } from "../api/ports/decisions.ts";
import type { NodeEvents, PodEvents } from "../api/ports/events.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { Cell } from "../kit/cell.ts";
import type { WallMs } from "../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../kit/errors.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { Publisher } from "../kit/topic.ts";
import { withTimeout } from "../kit/within.ts";
import type { DiskUsage } from "../outside/host/host.ts";
import type { Outside } from "../outside/outside.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { isReleasable } from "../pipeline/pods/record/observed.ts";
import type { PodRecord } from "../pipeline/pods/record/record.ts";
import {
  type AvailableByDevice,
  type DiskLayout,
  Eviction,
  type EvictionPorts,
  evictionSettings,
  type NodeMeasures,
  type PodUsage,
  type PressureCondition,
} from "../subsystems/eviction/eviction.ts";
import type { Images, RuntimeFilesystems } from "../subsystems/images/images.ts";
import type { Stats } from "../subsystems/stats/stats.ts";
import type { NodePressure } from "./heartbeat/derive-status.ts";
import { untilChanged } from "./until-changed.ts";

interface EvictionLoopDeps {
  readonly outside: Pick<Outside, "clock" | "log" | "host">;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly pipeline: Pick<Pipeline, "pods" | "seen">;
  readonly events: NodeEvents & PodEvents;
  readonly images: Pick<Images, "filesystems" | "deleteUnused">;
  readonly journal: Pick<Decisions, "record">;
  readonly news: Publisher<PodNews>;
  readonly stats: Pick<Stats, "machine" | "measure" | "storageOf">;
  /** The pressure that the node is under; written by eviction only. */
  readonly pressure: Cell<readonly PressureCondition[]>;
}

interface EvictionLoopOptions {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  readonly rootFolder: string;
  readonly pidMax: number;
  /** Path of the cgroup that holds all pods. */
  readonly podsGroup: string;
}

/** Sizes on disk that are older than this are measured again, a little less than the time between two rounds. */
const STORAGE_MAX_AGE_MS = 9_000;
/** Figures that are measured again are at most this old. */
const FRESH_MS = 500;
/** Between two checks whether the runtime has measured its layers again. */
const LAYERS_POLL_MS = 1_000;
/** How long that is waited for; containerd measures them every ten seconds. */
const LAYERS_WITHIN_MS = 12_000;
/** A pod that ends takes at most so long beyond its grace; after that others go. */
const OVERDUE_MS = 30_000;
/** After its start the agent waits at most this long for every source of pods and for the runtime to list all pods. */
const OBSERVED_WITHIN_MS = 60_000;
/** How long the removal of ended containers is waited for. */
const CLEAR_MS = 10_000;

/** Starts the watch; it ends with the scope. */
export function startEviction(options: EvictionLoopOptions, deps: EvictionLoopDeps): Eviction {
  const { pressure, metrics } = deps;
  const { clock, log } = deps.outside;
  const eviction = new Eviction(evictionSettings(options.config), {
    nodeName: options.nodeName,
    ports: evictionPorts(options, deps),
    events: deps.events,
    decisions: deps.journal,
    clock,
    log: log.child("eviction"),
    metrics,
    pressure,
  });
  if (options.config.kernelMemcgNotification) followKernel(eviction, options, deps);
  deps.scope.spawn("eviction", "restart", (signal) => eviction.run(signal));
  return eviction;
}

/** Has the next round begin as soon as the kernel reports that memory is short. */
function followKernel(
  eviction: Eviction,
  { podsGroup }: EvictionLoopOptions,
  { outside, scope }: EvictionLoopDeps,
): void {
  const { cgroups } = outside.host;
  const files = cgroups.watchMemory?.(podsGroup, () => eviction.requestRound(), scope.signal) ?? [];
  if (files.length > 0) outside.log.info("the kernel reports when memory is short", { files });
  else
    outside.log.warn(
      "kernelMemcgNotification has no effect: without a cgroup v2 mount, or on this kernel, nothing reports that memory is short; it is measured every 10 seconds",
      { cgroupVersion: cgroups.version },
    );
}

/** The conditions as the node's status shows them. */
export function nodePressure(conditions: readonly PressureCondition[]): NodePressure {
  return {
    memory: conditions.includes("MemoryPressure"),
    disk: conditions.includes("DiskPressure"),
    pid: conditions.includes("PIDPressure"),
  };
}

function evictionPorts(options: EvictionLoopOptions, deps: EvictionLoopDeps): EvictionPorts {
  const { pipeline, news, stats, outside } = deps;
  const { pods } = pipeline;
  const measureNode = nodeMeasurer(options, deps);
  const startedAt = outside.clock.monotonic();
  return {
    measureNode,
    hasUnobservedPods: () =>
      outside.clock.monotonic() - startedAt < OBSERVED_WITHIN_MS &&
      (!pipeline.seen.get() || pods.list().some(({ sync }) => sync.freshness === "unobserved")),
    candidates: () =>
      pods.list().flatMap((record) => {
        const ending = endingOf(record, outside.clock.monotonic());
        return ending ? [{ uid: record.uid, pod: record.pod, ending }] : [];
      }),
    measurePods: async ({ disks }) =>
      await usagesOf(
        deps,
        disks ? await stats.storageOf(uidsOf(deps), STORAGE_MAX_AGE_MS) : NO_STORAGE,
      ),
    remeasurePods: async ({ layers }, signal) =>
      await usagesOf(deps, await freshStorage(deps, layers, signal)),
    measureStorage: (uids) => stats.storageOf(uids, FRESH_MS),
    reclaim: (step, signal) =>
      step === "images" ? deleteImages(deps, signal) : clearEnded(deps, signal),
    evict: ({ uid, graceSeconds, message, disrupted }) =>
      news.publish({
        kind: "evicted",
        uid: uid as PodUid,
        reason: REASON,
        message,
        graceSeconds,
        ...(disrupted ? { disruption: message } : {}),
      }),
    leavingPods: () =>
      pods
        .list()
        .filter((record) => isEvicted(record) && !isCleanedUp(record))
        .map(({ uid }) => uid),
    untilCleanedUp: (uids, signal) =>
      untilChanged(pods, signal, () => uids.every((uid) => isCleanedUp(pods.get(uid as PodUid)))),
  };
}

const uidsOf = ({ pipeline }: EvictionLoopDeps): ReadonlySet<string> =>
  new Set(pipeline.pods.list().map(({ uid }) => uid));

async function usagesOf(
  { stats }: EvictionLoopDeps,
  storage: ReadonlyMap<string, PodStorage>,
): Promise<ReadonlyMap<string, PodUsage>> {
  const { pods } = await stats.measure({ maxAgeMs: 0 });
  return new Map(pods.map((pod) => [pod.uid, withStorage(pod, storage.get(pod.uid))]));
}

function withStorage(pod: PodFigures, storage: PodStorage | undefined): PodUsage {
  if (!storage) return pod;
  const containers = pod.containers.map((container) => ({
    ...container,
    ...storage.containers.find(({ name }) => name === container.name),
  }));
  return { ...pod, ...storage, containers };
}

/** Disk usage of all pods; with `layers`, measured by the runtime after the call if it answers in time. */
async function freshStorage(
  deps: EvictionLoopDeps,
  layers: boolean,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodStorage>> {
  const { clock } = deps.outside;
  const [since, began] = [clock.wall(), clock.monotonic()];
  for (;;) {
    const storage = await deps.stats.storageOf(uidsOf(deps), FRESH_MS);
    const isLate = clock.monotonic() - began >= LAYERS_WITHIN_MS;
    if (!layers || isLate || layersAreSince(storage, since)) return storage;
    await clock.sleep(LAYERS_POLL_MS, signal);
  }
}

/** A runtime that reports no layer at all is not waited for. */
function layersAreSince(storage: ReadonlyMap<string, PodStorage>, since: WallMs): boolean {
  const layers = [...storage.values()].flatMap(({ containers }) =>
    containers.map(({ rootfs }) => rootfs),
  );
  const isSince = (layer: (typeof layers)[number]) => layer !== undefined && layer.atMs >= since;
  return layers.every((layer) => layer === undefined) || layers.every(isSince);
}

const REASON = "Evicted";
const NO_STORAGE: ReadonlyMap<string, PodStorage> = new Map();

/**
 * Whether a pod ends already; `undefined` for pods that have nothing to give back, and for those that the runtime has reported
 * nothing of since the agent started: they can neither be measured nor ended.
 */
function endingOf(record: PodRecord, now: number) {
  const { life, sync } = record;
  if (sync.freshness === "unobserved") return undefined;
  if (life.kind === "running") return "no";
  if (life.kind !== "terminating") return undefined;
  if (now > life.killBy + OVERDUE_MS) return "overdue";
  return isEvicted(record) ? "evicted" : "deleted";
}

/** Its containers have to be gone, too: what they wrote takes space as long as they are there. */
function isCleanedUp(record: PodRecord | undefined): boolean {
  return !record || (isReleasable(record) && record.observed.containers.length === 0);
}

function isEvicted({ life }: PodRecord): boolean {
  const cause = life.kind === "terminating" || life.kind === "terminated" ? life.cause : undefined;
  return cause?.kind === "evicted" && cause.reason === REASON;
}

/** Asks kernel and runtime; what the runtime does not report is left out, and the layout is as it was. */
function nodeMeasurer(
  { rootFolder, pidMax, config }: EvictionLoopOptions,
  { outside, images, stats }: EvictionLoopDeps,
): EvictionPorts["measureNode"] {
  let layout: DiskLayout = "single";
  return async (signal) => {
    const machine = stats.machine();
    const nodefs = await tolerant(outside.host.diskUsage(rootFolder), signal);
    const found = await tolerant(images.filesystems(signal), signal);
    const logs = config.localStorageCapacityIsolation
      ? await tolerant(outside.host.diskUsage(config.podLogsDir), signal)
      : undefined;
    if (nodefs && found) layout = layoutOf(nodefs, found);
    return {
      layout,
      available: nodefs && found && logs && availableOf([nodefs, found.containers, logs]),
      measures: {
        ...machineMeasures(machine, pidMax),
        ...(nodefs ? { nodefs } : {}),
        ...(found ? { imagefs: found.images, containerfs: found.containers } : {}),
      },
    };
  };
}

const availableOf = (disks: readonly DiskUsage[]): AvailableByDevice =>
  new Map(disks.map(({ device, availableBytes }) => [device, availableBytes]));

async function tolerant<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isOutside(error) || signal.aborted) throw error;
    return undefined;
  }
}

function machineMeasures(
  { atMs, group, groups, tasks }: MachineFigures,
  pidMax: number,
): NodeMeasures {
  return {
    atMs,
    memory: group.memory,
    podsMemory: groups.find(({ name }) => name === "pods")?.group.memory,
    ...(tasks === undefined ? {} : { pids: { max: pidMax, used: tasks } }),
  };
}

/** Which file systems are the same, by their devices. */
function layoutOf(nodefs: DiskUsage, { images, containers }: RuntimeFilesystems): DiskLayout {
  if (images.device === nodefs.device) return "single";
  return containers.device === images.device ? "dedicated" : "split";
}

/** Images are kept until it is known which pods are desired. */
async function deleteImages(
  { images, pipeline, outside }: EvictionLoopDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!pipeline.seen.get()) return;
  try {
    const { removed, freedBytes, errors } = await images.deleteUnused(signal);
    outside.log.info("unused images were removed", { images: removed.length, freedBytes });
    if (errors.length > 0) throw new OutsideError("io", errors.join("; "));
  } catch (error) {
    if (isOutside(error) || signal.aborted) throw error;
    throw new OutsideError("io", messageOf(error), { cause: error });
  }
}

/**
 * Has the runtime remove what has ended of pods that are done. Of manifests it stays: beside a file of ours, which may be
 * lost, nothing else shows that they have run.
 */
async function clearEnded(deps: EvictionLoopDeps, signal: AbortSignal): Promise<void> {
  const { pods } = deps.pipeline;
  const ended = pods.list().filter(({ life, observed, desired }) => {
    const isDone = life.kind === "terminated" && desired.source === "api";
    return isDone && observed.containers.length > 0;
  });
  for (const { uid } of ended) deps.news.publish({ kind: "clear", uid });
  const isCleared = () =>
    ended.every(({ uid }) => (pods.get(uid)?.observed.containers.length ?? 0) === 0);
  const timeout = { clock: deps.outside.clock, ms: CLEAR_MS };
  await withTimeout(timeout, signal, (waits) => untilChanged(pods, waits, isCleared));
}
