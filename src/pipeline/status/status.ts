/**
 * Statuses of pods. Owns: the status last derived of each pod, in memory and on disk. In: records. Out:
 * statuses to readers and sinks. Invariants: what a pod's status reported before a restart is known after it;
 * a terminal phase stays; nothing is written when nothing changed.
 *
 *     statuses.update(record);
 *     statuses.get(record.uid)?.status.phase; // "Running"
 *     const stop = statuses.subscribe(sink);
 */
import { isSame } from "../../api/decode/strategic-diff.ts";
import type { PodStatus, ResourceStatus } from "../../api/generated/types.ts";
import { familyMismatch } from "../../api/node/node-addresses.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import type { Clock } from "../../kit/clock.ts";
import { isTree } from "../../kit/json.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { KeyedLog } from "../../kit/state/keyed-log.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import type { PodRecord } from "../pods/record/record.ts";
import { terminationCounter } from "./count-terminations.ts";
import { deriveStatus } from "./derive.ts";
import { EarlierStatuses } from "./earlier-statuses.ts";

/** Where statuses are stored. */
interface StatusOptions {
  /** File of stored statuses: one line per change. */
  readonly file: string;
  /** Folder in which earlier versions stored them, one file per pod. */
  readonly earlierFolder: string;
}

interface StatusDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly runtimeName: () => string;
  readonly hostIps: () => readonly string[];
  readonly events: PodEvents;
  /** Devices of a container with their health; left out when statuses are not to show them. */
  readonly devices?: (uid: PodUid, container: string) => readonly ResourceStatus[] | undefined;
  /** Whether the runtime of a pod can mount trees read-only; `undefined` while that is not known. */
  readonly recursiveReadOnly?: (pod: IdentifiedPod) => boolean | undefined;
  /** False where statuses are not to show the resources of pods as a whole. */
  readonly showsPodResources?: boolean;
}

/** A pod with its status, as readers see it. */
export interface PodWithStatus {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  readonly status: PodStatus;
  /** Every container is gone and nothing will run any more. */
  readonly ended: boolean;
}

/** Called for every status that changed; `undefined` when the pod is gone for good. */
export type StatusSink = (uid: PodUid, now: PodWithStatus | undefined) => void;

/** The statuses of all pods. */
export class Statuses {
  readonly #deps: StatusDeps;
  readonly #file: StateFile;
  readonly #log: KeyedLog<KeptStatus>;
  readonly #earlier: EarlierStatuses<KeptStatus>;
  readonly #current = new Map<PodUid, PodWithStatus>();
  /** Read back at start, until the pod's first record comes. */
  readonly #kept = new Map<PodUid, PodStatus>();
  /** Pods that no source names any more, now and when the agent last ended. */
  readonly #going = new Set<PodUid>();
  readonly #goneBefore = new Set<PodUid>();
  /** Why the node is ending pods whose phase does not say so yet, now and when the agent last ended. */
  readonly #ends = new Map<PodUid, HeldReason>();
  readonly #endsBefore = new Map<PodUid, HeldReason>();
  readonly #sinks = new Set<StatusSink>();
  readonly #countTerminations: ReturnType<typeof terminationCounter>;

  constructor({ file: path, earlierFolder }: StatusOptions, deps: StatusDeps) {
    this.#deps = deps;
    this.#countTerminations = terminationCounter(deps.metrics);
    this.#earlier = new EarlierStatuses(earlierFolder, deps.state, decodeKept);
    const holds = "readiness, conditions and times of pods from before the agent was started";
    this.#file = { name: "pod_status", path, holds, important: true };
    const keptOf = (uid: string) => this.#valueOf(uid as PodUid);
    const keys = () => new Set([...this.#current.keys(), ...this.#kept.keys()]);
    const options = { file: this.#file, valueOf: keptOf, keys, decode: decodeKept };
    this.#log = new KeyedLog(options, deps);
  }

  /** Reads what a previous run kept. What cannot be read is set aside. */
  async open(): Promise<void> {
    const writtenMs = (await this.#deps.state.modifiedMs(this.#file)) ?? 0;
    const kept = await this.#log.open();
    const earlier = await this.#earlier.read();
    const all = new Map(kept);
    // A file that is younger than the log was written by an agent of an earlier version that has run since.
    for (const [uid, { value, modifiedMs }] of earlier)
      if (!kept.has(uid) || modifiedMs > writtenMs) all.set(uid, value);
    for (const [uid, { status, going, ending }] of all) {
      this.#kept.set(uid as PodUid, status);
      if (ending) this.#endsBefore.set(uid as PodUid, ending);
      if (going === true) this.#goneBefore.add(uid as PodUid);
    }
    for (const uid of earlier.keys()) this.#log.changed(uid);
    if (earlier.size > 0 && (await this.#log.flush())) await this.#earlier.remove();
  }

  list(): readonly PodWithStatus[] {
    return [...this.#current.values()];
  }

  get(uid: PodUid): PodWithStatus | undefined {
    return this.#current.get(uid);
  }

  /**
   * Status of a pod that was published before the agent was started, until it is derived again, with the reason for which
   * the node was ending it; undefined for one that was terminating since no source named it: if it is desired
   * again, it starts over.
   */
  publishedBefore(uid: PodUid): PodStatus | undefined {
    const status = this.#goneBefore.has(uid) ? undefined : this.#kept.get(uid);
    return status && { ...status, ...this.#endsBefore.get(uid) };
  }

  /** Whether a status of the pod was kept from a previous run, until it is derived again. */
  knownBefore(uid: PodUid): boolean {
    return this.#kept.has(uid);
  }

  subscribe(sink: StatusSink): () => void {
    this.#sinks.add(sink);
    return () => {
      this.#sinks.delete(sink);
    };
  }

  /** Takes a pod's new record; notifies sinks when its status changed. */
  update(record: PodRecord): void {
    const { uid, pod } = record;
    if (record.life.kind === "released") {
      this.#forget(uid);
      return;
    }
    const before = this.#current.get(uid);
    const kept = before?.status ?? this.#keptOf(record);
    const previous = kept ?? publishedStatus(record);
    const { events, devices, recursiveReadOnly, showsPodResources = true } = this.#deps;
    const status = deriveStatus(record, {
      previous,
      now: this.#deps.clock.wall(),
      hostIps: this.#deps.hostIps(),
      runtimeName: this.#deps.runtimeName(),
      showsPodResources,
      ...(devices ? { devices: (container) => devices(uid, container) } : {}),
      ...(recursiveReadOnly ? { recursiveReadOnly: () => recursiveReadOnly(pod) } : {}),
    });
    const ended = record.life.kind === "terminated";
    if (this.#holdReason(record)) this.#log.changed(uid);
    if (before && before.ended === ended && before.pod === pod && isSame(before.status, status))
      return;
    this.#countTerminations(previous, status);
    const now: PodWithStatus = { uid, pod, status, ended };
    const message = familyMismatch(previous?.hostIP, status.hostIP);
    if (message !== undefined)
      events.ofPod(pod, { type: "Warning", reason: "HostIPsIPFamilyMismatch", message });
    this.#current.set(uid, now);
    this.#kept.delete(uid);
    const goesNow = record.desired.removed && !this.#going.has(uid);
    if (goesNow) this.#going.add(uid);
    if (goesNow || !kept || !isSame(kept, status)) this.#log.changed(uid);
    for (const sink of this.#sinks) sink(uid, now);
  }

  /** Derives the statuses of these pods again: something beside their records has changed. */
  updateAll(records: readonly PodRecord[]): void {
    for (const record of records) this.update(record);
  }

  /** Removes kept statuses of pods that no longer exist. */
  dropUnclaimed(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of this.#kept.keys()) {
      if (isKnown(uid)) continue;
      this.#kept.delete(uid);
      this.#log.changed(uid);
    }
  }

  /** Resolves when everything that changed is on disk. */
  async flush(): Promise<void> {
    await this.#log.flush();
  }

  #valueOf(uid: PodUid): KeptStatus | undefined {
    const current = this.#current.get(uid);
    const status = current ? current.status : this.#kept.get(uid);
    const going = (current ? this.#going : this.#goneBefore).has(uid);
    const ending = (current ? this.#ends : this.#endsBefore).get(uid);
    return status && { status, ...(going ? { going } : {}), ...(ending ? { ending } : {}) };
  }

  /** A pod that was on its way out and is desired again is another one by right, whatever its UID. */
  #keptOf({ uid, desired }: PodRecord): PodStatus | undefined {
    const isAnother = desired.source !== "runtime" && this.#goneBefore.has(uid);
    return isAnother ? undefined : this.#kept.get(uid);
  }

  /** Notes why the node ends the pod, until its status says so; whether that has changed. */
  #holdReason({ uid, life }: PodRecord): boolean {
    const isEnded = life.kind === "terminating" && life.cause.kind === "evicted";
    if (!isEnded) return this.#ends.delete(uid);
    const { reason, message } = life.cause;
    const held = this.#ends.get(uid);
    if (held?.reason === reason && held.message === message) return false;
    this.#ends.set(uid, { reason, message });
    return true;
  }

  #forget(uid: PodUid): void {
    this.#going.delete(uid);
    this.#ends.delete(uid);
    this.#current.delete(uid);
    this.#kept.delete(uid);
    this.#log.changed(uid);
    for (const sink of this.#sinks) sink(uid, undefined);
  }
}

/** Status of an API pod in the API, for a node that has lost its own status files. */
function publishedStatus({ desired, pod }: PodRecord): PodStatus | undefined {
  return desired.source === "api" ? pod.status : undefined;
}

/** Reason and message that a status will have once the pod has ended. */
type HeldReason = Required<Pick<PodStatus, "reason" | "message">>;

interface KeptStatus {
  readonly status: PodStatus;
  /** The pod was being terminated because no source named it any more. */
  readonly going?: boolean;
  /** Why the node was ending the pod. */
  readonly ending?: HeldReason;
}

function decodeKept(value: unknown): KeptStatus | undefined {
  if (!isTree(value) || !isTree(value["status"])) return undefined;
  const { ending, ...kept } = value;
  const isKnown =
    isTree(ending) && typeof ending["reason"] === "string" && typeof ending["message"] === "string";
  return { ...kept, ...(isKnown ? { ending } : {}) } as unknown as KeptStatus;
}
