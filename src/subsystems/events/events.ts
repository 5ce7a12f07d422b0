/**
 * Kubernetes events. Owns: what was said lately. In: what rooms have to say about objects. Out: events to
 * watchers, in order. Invariants: recording never waits and never throws; memory is bounded.
 */

import type { CoreEvent, ObjectReference, Pod } from "../../api/generated/types.ts";
import { containerFieldPath, findContainer } from "../../api/pod.ts";
import { rfc3339 } from "../../api/timestamps.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";

export interface EventsOptions {
  readonly nodeName: string;
  /** Events kept for reading. */
  readonly kept: number;
}

export interface EventsDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** What is said about an object. */
export interface Said {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

const COMPONENT = "kubelet";
/** Verbosity at which events are logged (server.go makeEventRecorder). */
const LOG_VERBOSITY = 3;

export class Events {
  readonly #options: EventsOptions;
  readonly #deps: EventsDeps;
  readonly #watchers = new Set<(event: CoreEvent) => void>();
  #kept: CoreEvent[] = [];
  #lastNanos = 0n;

  constructor(options: EventsOptions, deps: EventsDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Says something about a pod or one of its containers. */
  ofPod(pod: Pod, said: Said, container?: string): void {
    const { name = "", namespace = "", uid = "", resourceVersion } = pod.metadata ?? {};
    const placed = container === undefined ? undefined : findContainer(pod, container);
    this.record(
      {
        kind: "Pod",
        apiVersion: "v1",
        name,
        namespace,
        uid,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        ...(placed ? { fieldPath: containerFieldPath(placed) } : {}),
      },
      said,
    );
  }

  /** Says something about the node. */
  ofNode(said: Said): void {
    this.record({ kind: "Node", apiVersion: "v1", name: this.#options.nodeName }, said);
  }

  record(involvedObject: ObjectReference, { type, reason, message }: Said): void {
    const now = rfc3339(this.#deps.clock.wall());
    const namespace = involvedObject.namespace || "default";
    const event: CoreEvent = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${involvedObject.name}.${this.#uniqueNanos().toString(16)}`, namespace },
      involvedObject,
      reason,
      message,
      type,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component: COMPONENT, host: this.#options.nodeName },
      reportingComponent: COMPONENT,
      reportingInstance: this.#options.nodeName,
    };
    this.#kept.push(event);
    if (this.#kept.length > 2 * this.#options.kept)
      this.#kept = this.#kept.slice(-this.#options.kept);
    this.#deps.log.verbose(LOG_VERBOSITY, "Event occurred", {
      object: `${involvedObject.namespace ?? ""}/${involvedObject.name}`,
      fieldPath: involvedObject.fieldPath ?? "",
      kind: involvedObject.kind,
      type,
      reason,
      message,
    });
    for (const watcher of this.#watchers) watcher(event);
  }

  /** The latest events, oldest first. */
  list(): readonly CoreEvent[] {
    return this.#kept.slice(-this.#options.kept);
  }

  watch(onEvent: (event: CoreEvent) => void): () => void {
    this.#watchers.add(onEvent);
    return () => {
      this.#watchers.delete(onEvent);
    };
  }

  /** Nanoseconds of now, never the same twice: they name the event. */
  #uniqueNanos(): bigint {
    const nanos = BigInt(Math.floor(this.#deps.clock.wall())) * 1_000_000n;
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return this.#lastNanos;
  }
}
