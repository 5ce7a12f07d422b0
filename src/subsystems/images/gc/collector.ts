/**
 * Removes unused images. Owns: the passes, one at a time. In: records, users, holds, the disk.
 * Out: deletions, each with a decision in the journal; events about the node. Invariants: what is removed is
 * what `planGc` says for the snapshot, less what came into use since; a failed deletion does not end a pass.
 */

import { makeDecision } from "../../../api/decisions.ts";
import type { Pod } from "../../../api/generated/types.ts";
import type { Decisions } from "../../../api/ports/decisions.ts";
import type { NodeEvents } from "../../../api/ports/events.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, messageOf } from "../../../kit/errors.ts";
import { inParallel } from "../../../kit/in-parallel.ts";
import { SerialQueue } from "../../../kit/limits/serial-queue.ts";
import type { Log } from "../../../kit/log.ts";
import type { Counter } from "../../../kit/metrics.ts";
import type { ImageService } from "../../../outside/cri/cri.ts";
import type { Host } from "../../../outside/host/host.ts";
import { ImageIndex, idleSinceMs, shownName } from "../image-record.ts";
import type { ImageInventory, ImageSnapshot } from "../inventory.ts";
import { imagesNeeded } from "../users.ts";
import { deletionsFailed, notEnoughFreed } from "./gc-texts.ts";
import type { HoldMark, Holds } from "./holds.ts";
import { measureFilesystems } from "./image-disk.ts";
import { registriesToTry } from "./keep-rules.ts";
import {
  type GcGoal,
  type GcImage,
  type GcPlan,
  type GcPolicy,
  type GcSnapshot,
  planGc,
} from "./plan-gc.ts";

interface CollectorDeps {
  readonly images: ImageService;
  readonly host: Pick<Host, "diskUsage">;
  readonly clock: Clock;
  readonly log: Log;
  readonly inventory: ImageInventory;
  readonly holds: Holds;
  /** Pods that have or may get containers. */
  readonly pods: () => readonly Pod[];
  readonly events: NodeEvents;
  readonly decisions: Pick<Decisions, "record">;
  readonly collected: Counter;
  /** Whether a registry answers; asked only when a rule depends on it. */
  readonly reachable: (registry: string, signal: AbortSignal) => Promise<boolean>;
  /** Called with the remaining ids, after a pass whose listing began then. */
  readonly afterPass: (ids: ReadonlySet<string>, beganMs: number) => Promise<void>;
}

/** Result of a pass. */
export interface GcResult {
  readonly plan: GcPlan;
  readonly removed: readonly GcImage[];
  /** Sum of the sizes of what was removed for space; layers that others share still take theirs. */
  readonly freedBytes: number;
  /** Images chosen for deletion that came into use before it. */
  readonly spared: readonly GcImage[];
  /** Errors; empty on success. */
  readonly errors: readonly string[];
}

/** A pass that did not reach what it should; with the Go kubelet's message. */
export class CollectionFailed extends Error {
  override readonly name = "CollectionFailed";
}

interface Taken {
  readonly snapshot: GcSnapshot;
  readonly mark: HoldMark;
  readonly diskProblem: string | undefined;
}

interface Pass {
  readonly plan: GcPlan;
  readonly mark: HoldMark;
  readonly signal: AbortSignal;
  readonly removed: GcImage[];
  readonly spared: GcImage[];
  readonly errors: string[];
  freedBytes: number;
}

/** Registries that are tried at once. */
const MAX_DIALS = 16;

/** See the head of this file. */
export class Collector {
  readonly policy: GcPolicy;
  readonly #deps: CollectorDeps;
  readonly #startedMs: number;
  readonly #labels = new Map<string, Readonly<Record<string, string>>>();
  readonly #passes = new SerialQueue();

  constructor(policy: GcPolicy, deps: CollectorDeps) {
    this.policy = policy;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonic();
  }

  /** Dry run of a pass for this goal; removes nothing. */
  async plan(goal: GcGoal, signal: AbortSignal): Promise<GcPlan> {
    const { snapshot } = await this.#snapshot(signal);
    return planGc(snapshot, this.policy, goal);
  }

  /**
   * Plans and removes. Resolves with what was done, deletions that failed included; throws
   * `CollectionFailed` or `OutsideError` when nothing could be decided.
   */
  collect(goal: GcGoal, signal: AbortSignal): Promise<GcResult> {
    return this.#passes.run(() => this.#collect(goal, signal));
  }

  async #collect(goal: GcGoal, signal: AbortSignal): Promise<GcResult> {
    const { snapshot, mark, diskProblem } = await this.#snapshot(signal);
    const plan = planGc(snapshot, this.policy, goal);
    const pass: Pass = { plan, mark, signal, removed: [], spared: [], errors: [], freedBytes: 0 };
    await this.#removeOld(pass);
    const needsDisk = goal.kind === "periodic" || goal.kind === "usage";
    if (needsDisk) this.#checkDisk(snapshot, diskProblem);
    await this.#removeForSpace(pass);
    await this.#finish(pass, snapshot);
    const { removed, spared, errors, freedBytes } = pass;
    return { plan, removed, spared, errors, freedBytes };
  }

  /** An age pass with errors ends the run, as in the Go kubelet. */
  async #removeOld(pass: Pass): Promise<void> {
    for (const { rule, image } of pass.plan.deletions)
      if (rule === "age") await this.#remove(image, rule, pass);
    if (pass.errors.length === 0) return;
    throw new CollectionFailed(deletionsFailed(0, pass.freedBytes, pass.errors));
  }

  #checkDisk({ disk }: GcSnapshot, diskProblem: string | undefined): void {
    if (!disk) throw new CollectionFailed(`failed to get image stats: ${diskProblem ?? "unknown"}`);
    if (disk.capacityBytes > 0) return;
    const message = "invalid capacity 0 on image filesystem";
    this.#deps.events.ofNode({ type: "Warning", reason: "InvalidDiskCapacity", message });
    throw new CollectionFailed(message);
  }

  /** The planned images, then the next candidates until enough is freed. */
  async #removeForSpace(pass: Pass): Promise<void> {
    const { deletions, reserve, toFreeBytes } = pass.plan;
    const space = deletions.filter(({ rule }) => rule === "space").map(({ image }) => image);
    for (const image of [...space, ...reserve]) {
      if (pass.freedBytes >= toFreeBytes) break;
      const before = pass.removed.length;
      await this.#remove(image, "space", pass);
      if (pass.removed.length > before) pass.freedBytes += image.sizeBytes;
    }
  }

  async #remove(image: GcImage, rule: "age" | "space", pass: Pass): Promise<void> {
    pass.signal.throwIfAborted();
    const { holds, images, inventory, collected, log, pods } = this.#deps;
    const names = [image.id, ...image.tags, ...image.digests];
    try {
      // A pod that came since the listing is not in the snapshot.
      const needed = imagesNeeded(pods(), new ImageIndex([image])).size > 0;
      const remove = () => images.removeImage(image.id, pass.signal);
      if (needed || !(await holds.removeUnlessHeld(names, pass.mark, remove))) {
        pass.spared.push(image);
        return;
      }
    } catch (error) {
      if (pass.signal.aborted) throw error;
      log.warn("failed to remove an image", { image: shownName(image), error });
      pass.errors.push(messageOf(error));
      return;
    }
    pass.removed.push(image);
    inventory.removed(image.id);
    collected.add({ reason: rule });
    this.#record(image, rule, pass);
  }

  #record(image: GcImage, rule: "age" | "space", { plan, freedBytes }: Pass): void {
    const decision = makeDecision("collectImage", rule, {
      goal: plan.goal.kind,
      sizeBytes: image.sizeBytes,
      firstDetectedMs: image.firstDetectedMs,
      lastUsedMs: image.lastUsedMs,
      idleMs: plan.atMs - idleSinceMs(image),
      ...(plan.usagePercent === undefined ? {} : { usagePercent: plan.usagePercent }),
      ...(Number.isFinite(plan.toFreeBytes) ? { toFreeBytes: plan.toFreeBytes } : {}),
      freedBeforeBytes: freedBytes,
      order: this.policy.order,
    });
    const name = shownName(image);
    this.#deps.decisions.record({ kind: "image", name, uid: image.id }, decision);
    this.#deps.log.info("image removed", { image: name, rule, sizeBytes: image.sizeBytes });
  }

  /** Records that are left over go; a periodic pass that freed too little fails with an event. */
  async #finish(pass: Pass, { disk }: GcSnapshot): Promise<void> {
    const { plan, errors, freedBytes, signal } = pass;
    if (pass.removed.length > 0) await this.#afterRemovals(plan.atMs, signal);
    if (plan.goal.kind !== "periodic") return;
    if (errors.length > 0)
      throw new CollectionFailed(deletionsFailed(plan.toFreeBytes, freedBytes, errors));
    if (!disk || freedBytes >= plan.toFreeBytes) return;
    const message = notEnoughFreed(plan, disk, freedBytes);
    this.#deps.events.ofNode({ type: "Warning", reason: "FreeDiskSpaceFailed", message });
    throw new CollectionFailed(message);
  }

  async #afterRemovals(beganMs: number, signal: AbortSignal): Promise<void> {
    const { inventory, afterPass, log } = this.#deps;
    try {
      const left = await inventory.list(signal);
      await inventory.save();
      await afterPass(new Set(left.map(({ id }) => id)), beganMs);
    } catch (error) {
      log.warn("failed to list images after garbage collection", { error });
    }
  }

  /** Everything the plan depends on; throws `OutsideError` when images or users are not known. */
  async #snapshot(signal: AbortSignal): Promise<Taken> {
    const { inventory, holds, images, host, clock } = this.#deps;
    const mark = holds.mark();
    const listed = await inventory.detect(signal);
    const described = await this.#describe(listed, signal);
    let disk: GcSnapshot["disk"];
    let diskProblem: string | undefined;
    try {
      const { capacityBytes, availableBytes } = (await measureFilesystems(images, host, signal))
        .images;
      disk = { capacityBytes, availableBytes: Math.min(availableBytes, capacityBytes) };
    } catch (error) {
      if (signal.aborted) throw error;
      diskProblem = messageOf(error);
    }
    const snapshot = {
      atMs: listed.beganMs,
      watchedMs: clock.monotonic() - this.#startedMs,
      images: described,
      ...(disk ? { disk } : {}),
      unreachable: await this.#unreachable(described, signal),
    };
    return { snapshot, mark, diskProblem };
  }

  async #describe(snapshot: ImageSnapshot, signal: AbortSignal): Promise<readonly GcImage[]> {
    const { inventory, holds, pods } = this.#deps;
    const needed = imagesNeeded(pods(), snapshot.index);
    const described: GcImage[] = [];
    for (const record of snapshot.records.values()) {
      const { id, tags, digests } = record;
      const names = [...tags, ...digests];
      const labels = await this.#labelsOf(id, signal);
      const held = holds.holdersOf([id, ...names]);
      described.push({
        ...record,
        usedBy: snapshot.users.get(id) ?? [],
        // A rule may keep it for its labels: without them it is not removed.
        heldFor: labels === undefined ? [...held, "labels are unreadable"] : held,
        neededBy: needed.get(id) ?? [],
        labels: labels ?? {},
        requested: inventory.requestedAs(names),
      });
    }
    for (const id of this.#labels.keys()) if (!snapshot.records.has(id)) this.#labels.delete(id);
    return described;
  }

  /**
   * An image's labels never change, so each image is asked about once, and only when a rule depends on them;
   * `undefined` when the runtime cannot say.
   */
  async #labelsOf(
    id: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined> {
    if (this.policy.keep.labels.length === 0) return {};
    const known = this.#labels.get(id);
    if (known) return known;
    try {
      const labels = await this.#deps.images.imageLabels(id, signal);
      this.#labels.set(id, labels);
      return labels;
    } catch (error) {
      if (!isOutside(error) || isOutside(error, "unavailable", "aborted")) throw error;
      this.#deps.log.verbose(2, "failed to read the labels of an image", { image: id, error });
      return undefined;
    }
  }

  async #unreachable(
    images: readonly GcImage[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const registries = [...registriesToTry(this.policy.keep, images)];
    const answers = await inParallel(registries, MAX_DIALS, (registry) =>
      this.#deps.reachable(registry, signal),
    );
    signal.throwIfAborted();
    return new Set(
      registries.filter((_, at) => {
        const answer = answers[at];
        return answer?.kind === "done" && answer.value === false;
      }),
    );
  }
}
