/**
 * The ledger of resources. Owns: resources allocated to pods, and those their containers and cgroups were last
 * given; both in memory and, in the Go kubelet's format, on disk. In: admissions, changes in place, starts
 * of containers. Out: allocations to admission, to the pods module, to statuses. Invariants: what was
 * promised is on disk before anything is done about it; nothing is written when nothing changed.
 */

import type { ResourceRequirements } from "../../api/generated/types.ts";
import {
  type ActuatedPod,
  allocationOf,
  isSameAllocation,
  isSameInEffect,
  isSameResources,
  isUnsure,
  type PodAllocation,
  unsure,
  withAllocation,
  withPodLimits,
} from "../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Clock } from "../../kit/clock.ts";
import { SerialQueue } from "../../kit/limits/serial-queue.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import { encodeAllocations, parseAllocations } from "./allocation-checkpoint.ts";

/** Paths of the two files. */
export interface LedgerPaths {
  readonly allocated: string;
  readonly actuated: string;
}

interface LedgerDeps {
  readonly state: StateFiles;
  readonly clock: Pick<Clock, "alarm">;
}

const MODE = 0o600;
/** Largest file that is read back. */
const MAX_BYTES = 16 * 1024 * 1024;
/**
 * A file is written as a whole: what may be lost waits so long for more, so that many new pods are few writes. A pod whose
 * record is lost is given what its spec asks for, as it was before.
 */
const JOIN_MS = 1_000;

/** Allocations of one kind, written as a whole; changes that come meanwhile share the next write. */
class KeptAllocations {
  readonly all = new Map<string, PodAllocation>();
  /** By which the groups of pods were made or changed, since a change in place. */
  readonly groups = new Map<string, PodAllocation>();
  readonly #file: StateFile;
  readonly #deps: LedgerDeps;
  readonly #writes = new SerialQueue();
  #queued: Promise<void> | undefined;
  /** Begins the write that waits for more; absent while none waits. */
  #cancelLater: (() => void) | undefined;

  constructor(file: StateFile, deps: LedgerDeps) {
    this.#file = file;
    this.#deps = deps;
  }

  async open(): Promise<void> {
    const read = await this.#deps.state.read(this.#file, MAX_BYTES, (text) => {
      const parsed = parseAllocations(text);
      return parsed.kind === "broken" ? parsed : { kind: "read", value: parsed };
    });
    if (!read) return;
    for (const [uid, each] of read.allocations) this.all.set(uid, each);
    for (const [uid, each] of read.groups) this.groups.set(uid, each);
  }

  /** Resolves once everything as it is now is on disk. Throws `OutsideError`. */
  write(): Promise<void> {
    this.#queued ??= this.#writes.run(() => {
      this.#queued = undefined;
      this.#cancelLater?.();
      this.#cancelLater = undefined;
      const text = encodeAllocations(this.all, this.groups);
      return this.#deps.state.write(this.#file, text, MODE);
    });
    return this.#queued;
  }

  /** As `write`, for what may be lost: a failure is only reported, by the state files. */
  async writeSoon(): Promise<void> {
    await this.write().catch(() => {});
  }

  /** As `writeSoon`, together with what comes within a moment. */
  writeLater(): void {
    this.#cancelLater ??= this.#deps.clock.alarm(JOIN_MS, () => void this.writeSoon());
  }

  /** Resolves when nothing waits to be written. */
  async flush(): Promise<void> {
    const waits = this.#cancelLater !== undefined || this.#queued !== undefined;
    if (waits) await this.writeSoon();
  }
}

/** The module's own part of what is kept; see above. */
export class AllocationLedger {
  readonly #allocated: KeptAllocations;
  readonly #actuated: KeptAllocations;

  constructor(paths: LedgerPaths, deps: LedgerDeps) {
    const file = (path: string, name: string, holds: string) =>
      new KeptAllocations({ name, path, holds, important: true }, deps);
    this.#allocated = file(paths.allocated, "allocated_pods_state", "resources allocated to pods");
    this.#actuated = file(
      paths.actuated,
      "actuated_pods_state",
      "resources already set by an in-place resize in progress",
    );
  }

  /** Reads what a previous run kept. What cannot be read is set aside. */
  async open(): Promise<void> {
    await Promise.all([this.#allocated.open(), this.#actuated.open()]);
  }

  /** Resources allocated to the pod; `undefined` when it was not admitted. */
  allocated(uid: string): PodAllocation | undefined {
    return this.#allocated.all.get(uid);
  }

  /** The pod with the resources it was given. */
  asAllocated(pod: IdentifiedPod): IdentifiedPod {
    const allocation = this.allocated(pod.metadata.uid);
    return allocation ? withAllocation(pod, allocation) : pod;
  }

  /** Resources that containers and cgroup of the pod have; the allocated ones where nothing else is known. */
  actuated(pod: IdentifiedPod): ActuatedPod {
    const uid = pod.metadata.uid;
    const allocation = this.allocated(uid) ?? allocationOf(pod);
    const known = this.#actuated.all.get(uid);
    const containers = Object.fromEntries(
      Object.entries(allocation.containers).map(([name, given]) => [
        name,
        known?.containers[name] ?? given,
      ]),
    );
    const own = known ? known.pod : allocation.pod;
    const merged: PodAllocation = own ? { pod: own, containers } : { containers };
    return { ...merged, group: this.#actuated.groups.get(uid) ?? merged };
  }

  /** Gives the pod these resources; resolves once that is on disk. Throws `OutsideError`, and gives nothing then. */
  async allocate(pod: IdentifiedPod, allocation: PodAllocation): Promise<void> {
    const uid = pod.metadata.uid;
    const before = this.#allocated.all.get(uid);
    if (before && isSameAllocation(before, allocation)) return;
    // Parts without a record count as the previous allocation, and would be taken for the new one.
    if (before) await this.#recordAll(uid, this.#beforeChange(before, this.actuated(pod)));
    this.#allocated.all.set(uid, allocation);
    try {
      await this.#allocated.write();
    } catch (error) {
      if (before) this.#allocated.all.set(uid, before);
      else this.#allocated.all.delete(uid);
      throw error;
    }
  }

  /** As `allocate`, for a new pod: it is admitted whether or not that can be kept. */
  admit(pod: IdentifiedPod): void {
    const uid = pod.metadata.uid;
    if (this.#allocated.all.has(uid)) return;
    this.#allocated.all.set(uid, allocationOf(pod));
    this.#allocated.writeLater();
  }

  /**
   * The pod is about to run: it has what it was given, where nothing else is known of it. Before its first container, as
   * the Go kubelet of 1.37 writes it.
   */
  actuateFirst(pod: IdentifiedPod): void {
    const uid = pod.metadata.uid;
    if (this.#actuated.all.has(uid)) return;
    this.#actuated.all.set(uid, this.allocated(uid) ?? allocationOf(pod));
    this.#actuated.writeLater();
  }

  /** A container has, or is about to get, these resources. Resolves once that is on disk where it matters. */
  async actuate(
    pod: IdentifiedPod,
    container: string,
    resources: ResourceRequirements,
  ): Promise<void> {
    const uid = pod.metadata.uid;
    const known = this.#actuated.all.get(uid);
    const before = known?.containers[container];
    if (before && isSameResources(before, resources)) return;
    const containers = { ...known?.containers, [container]: resources };
    const own = this.#ownOf(pod, known);
    this.#actuated.all.set(uid, { ...own, containers });
    // Without a record a container has what its pod was given: nothing is lost by a crash then.
    const isChange =
      before && !isSameResources(withPodLimits(before, own.pod), withPodLimits(resources, own.pod));
    if (isChange) await this.#actuated.writeSoon();
    else this.#actuated.writeLater();
  }

  /** The pod's group, and the pod as a whole, have what the pod was given by `allocation`. */
  async actuateGroup(uid: string, allocation: PodAllocation): Promise<void> {
    const { all, groups } = this.#actuated;
    groups.set(uid, allocation);
    const { pod: own } = allocation;
    const containers = all.get(uid)?.containers ?? {};
    all.set(uid, own ? { pod: own, containers } : { containers });
    await this.#actuated.writeSoon();
  }

  /** Forgets a pod that is gone for good. */
  forget(uid: string): void {
    this.#actuated.groups.delete(uid);
    if (this.#allocated.all.delete(uid)) this.#allocated.writeLater();
    if (this.#actuated.all.delete(uid)) this.#actuated.writeLater();
  }

  /** Resolves when everything is on disk, or could not be written. */
  async flush(): Promise<void> {
    await Promise.all([this.#allocated.flush(), this.#actuated.flush()]);
  }

  /** Drops pods that no longer exist. */
  dropUnclaimed(isKnown: (uid: string) => boolean): void {
    const uids = new Set([...this.#allocated.all.keys(), ...this.#actuated.all.keys()]);
    for (const uid of uids) if (!isKnown(uid)) this.forget(uid);
  }

  /** A change on top of one that is under way, which may be half done or have failed half way. */
  #beforeChange(before: PodAllocation, has: ActuatedPod): ActuatedPod {
    const isDone =
      isSameInEffect(before, has) && !isUnsure(has.group) && isSameAllocation(before, has.group);
    return isDone ? has : { ...has, group: unsure(has.group) };
  }

  async #recordAll(uid: string, { pod: own, containers, group }: ActuatedPod): Promise<void> {
    this.#actuated.groups.set(uid, group);
    this.#actuated.all.set(uid, own ? { pod: own, containers } : { containers });
    await this.#actuated.write();
  }

  #ownOf(pod: IdentifiedPod, known: PodAllocation | undefined): Pick<PodAllocation, "pod"> {
    const own = known ? known.pod : this.allocated(pod.metadata.uid)?.pod;
    return own ? { pod: own } : {};
  }
}
