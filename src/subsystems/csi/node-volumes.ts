import type {
  CsiPublishedVolume,
  CsiVolumeRequest,
  CsiVolumes,
} from "../../api/ports/csi-volumes.ts";
import { VolumeWaits } from "../../api/volume-step.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import { Turns } from "../../kit/limits/turns.ts";
import { waitForChange } from "../../kit/loops/wakeup.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { untilAborted } from "../../kit/within.ts";
import { exceedsAttachLimit } from "./attach-limit.ts";
import { classOf } from "./csi-error.ts";
import { type CsiOrder, orderOf } from "./csi-order.ts";
import {
  type CsiOperation,
  type CsiVolume,
  enterStep,
  isInOrder,
  newCsiVolume,
  settle,
} from "./csi-volume.ts";
import { findVolumes } from "./found-volumes.ts";
import { growIfRequested, mayGrow } from "./steps/expand-volume.ts";
import { mapBlock } from "./steps/map-block.ts";
import { measureVolume } from "./steps/measure-volume.ts";
import { mountVolume, republishVolume } from "./steps/mount-volume.ts";
import { unpublishVolume } from "./steps/publish-volume.ts";
import { unstageVolume } from "./steps/stage-volume.ts";
import { failedAt, stepAt } from "./steps/step-deps.ts";

type NodeVolumesDeps = Parameters<typeof mountVolume>[2] & { readonly scope: TaskScope };

/** Between tries of one operation on one volume (goroutinemap exponentialbackoff). */
const RETRY = { initialMs: 500, maxMs: 122_000 };
/** A pod that has a volume with `requiresRepublish` gets it again when it was given so long ago. */
const REPUBLISH_MS = 30_000;
const VOLUMES_AT_ONCE = 8;

/** All volumes of CSI drivers on this node. On one volume one thing is done at a time, on different ones side by side. */
export class NodeVolumes implements CsiVolumes {
  readonly #deps: NodeVolumesDeps;
  readonly #volumes = new Map<string, CsiVolume>();
  readonly #turns = new Turns();
  readonly #listeners = new Set<() => void>();
  readonly #inUse = new Cell<string>("");
  /** Volumes that are being unstaged, or wait for another try. */
  readonly #leaving = new Set<string>();

  constructor(deps: NodeVolumesDeps) {
    this.#deps = deps;
  }

  /** Changes with every change of `inUse`. */
  get inUseChanges(): Reading<unknown> {
    return this.#inUse;
  }

  list(): readonly CsiVolume[] {
    return [...this.#volumes.values()];
  }

  /**
   * Volumes for the node's status, which a controller may not detach: those that are to be had, or may be staged still. Of
   * those that were found on the disk only `listed` ones, which the status names already. From here on they count as
   * reported: what the status names by a report from before is none of theirs.
   */
  inUse(listed: ReadonlySet<string>): readonly string[] {
    const named = this.list().filter(({ key, attachable = listed.has(key) }) => attachable);
    const isNews = named.some(({ isReported }) => !isReported);
    for (const volume of named) volume.isReported = true;
    if (isNews) this.wake();
    return named.map(({ key }) => key).toSorted();
  }

  /** Takes over what an agent before this one left, and unstages what no pod has. */
  async start(): Promise<void> {
    const { scope, drivers, rules } = this.#deps;
    for (const found of await findVolumes(this.#deps)) this.#volumes.set(found.key, found);
    for (const changes of [drivers.changes, rules.changes]) {
      const stop = changes.subscribe(() => this.#tryAtOnce());
      scope.defer("changes of drivers", stop);
    }
    for (const volume of this.#volumes.values()) this.#leaveIfUnused(volume);
    this.#noteInUse();
  }

  /** A driver has come, or its rules are others: what has failed may succeed now. */
  #tryAtOnce(): void {
    const until = this.#deps.clock.monotonic();
    for (const volume of this.#volumes.values())
      if (volume.backoff) volume.backoff = { ...volume.backoff, until };
    this.wake();
  }

  /** Something that volumes wait for may have come. */
  wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  async publish(request: CsiVolumeRequest, signal: AbortSignal): Promise<CsiPublishedVolume> {
    const order = orderOf(request);
    const volume = this.#volumeOf(order);
    volume.wanted.add(order.podUid);
    if (volume.pods.get(order.podUid)?.state !== "mounted")
      volume.since ??= this.#deps.clock.monotonic();
    const { namespace, name } = order.pod.metadata;
    volume.podNames.set(order.podUid, `${namespace}/${name}`);
    try {
      await this.#judgeAttachable(volume, signal);
    } catch (error) {
      throw failedAt(stepAt("publish", order), error);
    } finally {
      this.#noteInUse();
    }
    if (volume.pods.get(order.podUid)?.state === "mounted")
      return this.#refreshed(volume, order, signal);
    this.#checkBackoff(volume, "mount", order);
    const run = this.#turns.take(volume.key, () => this.#mountInTurn(volume, order));
    return await untilAborted(run, signal);
  }

  async unpublish(podUid: string, signal: AbortSignal): Promise<void> {
    const own = this.list().filter(({ pods, wanted }) => pods.has(podUid) || wanted.has(podUid));
    for (const { wanted } of own) wanted.delete(podUid);
    const outcomes = await inParallel(own, VOLUMES_AT_ONCE, async (volume) => {
      const run = this.#turns.take(volume.key, () => this.#unpublishInTurn(volume, podUid, signal));
      await untilAborted(run, signal);
    });
    allValues(outcomes);
  }

  exceedsLimit(podUid: string, signal: AbortSignal): Promise<boolean> {
    return exceedsAttachLimit(this.list(), podUid, this.#deps, signal);
  }

  #volumeOf(order: CsiOrder): CsiVolume {
    const known = this.#volumes.get(order.key);
    if (known) return known;
    const made = newCsiVolume(order);
    this.#volumes.set(order.key, made);
    return made;
  }

  /** Once a controller attaches the volume nothing changes that but a driver that needs no attaching any more. */
  async #judgeAttachable(volume: CsiVolume, signal: AbortSignal): Promise<void> {
    if (volume.isInline || volume.attachable === false) return;
    const { attachRequired } = await this.#deps.rules.of(volume.driver, signal);
    volume.attachable = attachRequired;
  }

  /** A volume that the pod has: given again where its driver needs that, and grown. */
  async #refreshed(
    volume: CsiVolume,
    order: CsiOrder,
    signal: AbortSignal,
  ): Promise<CsiPublishedVolume> {
    const { clock, rules } = this.#deps;
    const { publishedAt = Number.NEGATIVE_INFINITY } = volume.pods.get(order.podUid) ?? {};
    const isOld = clock.monotonic() - publishedAt >= REPUBLISH_MS;
    const republishes = isOld && rules.known(volume.driver)?.republishes === true;
    const made = await this.#made(volume, order);
    if (!republishes && !mayGrow(volume, order)) return made;
    const run = this.#turns.take(volume.key, async () => {
      try {
        if (republishes) await republishVolume(volume, order, this.#deps);
      } catch (error) {
        return { ...made, fault: messageOf(error) };
      } finally {
        // A failure is an event already.
        await growIfRequested(volume, order, this.#deps).catch(() => {});
        volume.doing = undefined;
      }
      return made;
    });
    return await untilAborted(run, signal);
  }

  async #mountInTurn(volume: CsiVolume, order: CsiOrder): Promise<CsiPublishedVolume> {
    const use = volume.pods.get(order.podUid);
    try {
      if (!volume.wanted.has(order.podUid))
        throw new OutsideError("aborted", "the pod does not need the volume any more");
      if (use?.state !== "mounted") await mountVolume(volume, order, this.#deps);
      settle(volume);
      return await this.#made(volume, order);
    } catch (error) {
      this.#failed(volume, "mount", error);
      throw error;
    } finally {
      volume.doing = undefined;
      this.#leaveIfUnused(volume);
    }
  }

  async #unpublishInTurn(volume: CsiVolume, podUid: string, signal: AbortSignal): Promise<void> {
    try {
      if (!volume.pods.has(podUid)) {
        volume.podNames.delete(podUid);
        // What has failed was the part of a pod that is gone.
        if (isInOrder(volume)) settle(volume);
        return;
      }
      if (volume.backoff?.operation === "unmount") await this.#pause(volume, signal);
      signal.throwIfAborted();
      volume.since ??= this.#deps.clock.monotonic();
      enterStep(volume, "UnmountVolume.TearDown");
      await unpublishVolume(volume, podUid, this.#deps);
      volume.pods.delete(podUid);
      volume.podNames.delete(podUid);
      settle(volume);
    } catch (error) {
      const use = volume.pods.get(podUid);
      // The driver may have taken it away: it is to be published again before anybody uses it.
      if (use && classOf(error) !== "transient") use.state = "uncertain";
      if (!signal.aborted) this.#failed(volume, "unmount", error);
      throw new OutsideError(
        "precondition",
        `UnmountVolume.TearDown failed for volume "${volume.specName}" : ${messageOf(error)}`,
        { cause: error },
      );
    } finally {
      volume.doing = undefined;
      this.#leaveIfUnused(volume);
    }
  }

  /** Once no pod has or needs the volume it is unstaged, until that has succeeded or a pod needs it again. */
  #leaveIfUnused(volume: CsiVolume): void {
    const { scope } = this.#deps;
    if (!isUnused(volume) || this.#leaving.has(volume.key) || scope.signal.aborted) return;
    if (volume.device === "none") {
      this.#forget(volume);
      return;
    }
    this.#leaving.add(volume.key);
    scope.spawn("volume that no pod has", "restart", async (signal) => {
      try {
        await this.#leave(volume, signal);
      } finally {
        this.#leaving.delete(volume.key);
      }
    });
  }

  async #leave(volume: CsiVolume, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isDone = await this.#turns.take(volume.key, async () => {
        if (!isUnused(volume)) return true;
        return await this.#unstageInTurn(volume);
      });
      if (isDone) return;
      await this.#pause(volume, signal);
    }
  }

  /** Waits until the last failure is long enough ago, or a driver has come. */
  async #pause({ backoff }: CsiVolume, signal: AbortSignal): Promise<void> {
    const { clock, drivers } = this.#deps;
    const ms = Math.max(0, (backoff?.until ?? 0) - clock.monotonic());
    await waitForChange([drivers.changes], { clock, ms }, signal);
  }

  async #unstageInTurn(volume: CsiVolume): Promise<boolean> {
    try {
      if (!volume.isInline && volume.device !== "none") {
        volume.since ??= this.#deps.clock.monotonic();
        enterStep(volume, "UnmountDevice");
        await unstageVolume(volume, this.#deps);
      }
      volume.device = "none";
      // A pod may have come for it meanwhile, and goes on with what is known of it.
      if (isUnused(volume)) this.#forget(volume);
      else settle(volume);
      return true;
    } catch (error) {
      if (classOf(error) !== "transient") volume.device = "uncertain";
      this.#failed(volume, "unmount_device", error);
      return false;
    } finally {
      volume.doing = undefined;
    }
  }

  #forget(volume: CsiVolume): void {
    if (this.#volumes.get(volume.key) === volume) this.#volumes.delete(volume.key);
    this.#noteInUse();
  }

  #failed(volume: CsiVolume, operation: CsiOperation, error: unknown): void {
    const { clock, log, signal } = this.#deps;
    volume.problem = messageOf(error);
    if (error instanceof VolumeWaits || signal.aborted) return;
    const before = volume.backoff?.operation === operation ? volume.backoff.failures : 0;
    const failures = before + 1;
    const delayMs = retryDelayMs(failures, RETRY);
    const until = (clock.monotonic() + delayMs) as MonotonicMs;
    volume.backoff = { operation, failures, until };
    log.warn("an operation on a volume failed; will retry", {
      volume: volume.specName,
      driver: volume.driver,
      operation,
      delayMs,
      error,
    });
    if (operation === "mount") clock.alarm(delayMs, () => this.wake());
  }

  /** Throws the last problem while the operation is not to be tried again yet; another operation may run at once. */
  #checkBackoff({ backoff, problem }: CsiVolume, operation: CsiOperation, order: CsiOrder): void {
    if (backoff?.operation !== operation || this.#deps.clock.monotonic() >= backoff.until) return;
    const why = problem ?? "the last attempt failed";
    throw new VolumeWaits(stepAt("publish", order), new OutsideError("precondition", why));
  }

  async #made(volume: CsiVolume, order: CsiOrder): Promise<CsiPublishedVolume> {
    const { target } = this.#deps.paths.forPod(order, order.podUid);
    const measure = () => measureVolume(volume, order, this.#deps);
    const { driver } = volume;
    if (!order.isBlock) return { hostPath: target, driver, measure };
    const { node, number } = await mapBlock(order, this.#deps);
    return { hostPath: "", device: node, deviceNumber: number, driver, measure };
  }

  #noteInUse(): void {
    const attachable = this.list().filter((volume) => volume.attachable !== false);
    this.#inUse.set(
      attachable
        .map(({ key }) => key)
        .toSorted()
        .join("\n"),
    );
  }
}

const isUnused = ({ pods, wanted }: CsiVolume): boolean => pods.size === 0 && wanted.size === 0;
