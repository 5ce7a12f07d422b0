/**
 * Kubernetes events. Owns: recent events, in memory and on disk, and those that wait for the API server.
 * In: events that modules record about objects. Out: events to the log, to watchers and to the API server, in
 * order. Invariants: recording never waits and never throws; memory and disk are bounded; every event that
 * is recorded is counted once, as sent, aggregated, kept or dropped.
 *
 * Example:
 *     const events = await startEvents({ nodeName, folder }, { clock, random, log, state, metrics, scope, api });
 *     events.ofPod(pod, { type: "Normal", reason: "Started", message: "Container started" }, "web");
 */

import { withMarks } from "../../api/event-marks.ts";
import type { AnnotatedEventText, EventText, PodEventText } from "../../api/event-text.ts";
import type { CoreEvent, Node, ObjectReference, Pod } from "../../api/generated/types.ts";
import type { NodeEvents, ObjectEvents, PodEvents } from "../../api/ports/events.ts";
import type { EventReason } from "../../api/reasons.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { RateLimit } from "../../kit/limits/token-bucket.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";
import { Broadcaster, type EventHandler } from "./broadcaster.ts";
import { Correlator } from "./correlator.ts";
import { EventCounts } from "./counts.ts";
import type { EventApi } from "./event-api.ts";
import { History } from "./history.ts";
import type { EventQuery } from "./history-lines.ts";
import { containerReference, nodeReference, podReference } from "./make-event.ts";
import { type EventPolicy, type EventRules, eventRules } from "./policy.ts";
import { Recorder } from "./recorder.ts";
import { ReferenceSink } from "./reference-sink.ts";
import { Sink } from "./sink.ts";
import { type LostEvents, Spool } from "./spool.ts";

export type { EventHandler } from "./broadcaster.ts";
export type { EventPatch } from "./correlate.ts";
export type { EventApi, EventApiFault, EventName } from "./event-api.ts";
export { EventApiError } from "./event-api.ts";
export { readEventHistory } from "./history.ts";
export type { EventQuery } from "./history-lines.ts";
export { kubeEventApi } from "./kube-event-api.ts";
export type { EventObject } from "./make-event.ts";
export type { CorrelatorOptions, EventMode, EventPolicy } from "./policy.ts";
export type { Recorder } from "./recorder.ts";

export interface EventsOptions {
  readonly nodeName: string;
  /** Folder of the history and of what waits for the API server; made when missing. */
  readonly folder: string;
  readonly policy?: EventPolicy;
  /** How fast events are written; 50 per second and 100 at once by default. */
  readonly rate?: RateLimit;
}

interface EventsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly state: StateFiles;
  readonly metrics: MetricsRegistry;
  readonly scope: TaskScope;
  /** The API server; without one events go to the log and to the history only. */
  readonly api?: EventApi;
  /** The node's own object; undefined as long as the API has none. */
  readonly node?: Reading<Node | undefined>;
}

const COMPONENT = "kubelet";
/** Verbosity at which events are logged (server.go makeEventRecorder). */
const LOG_VERBOSITY = 3;
const DEFAULT_RATE: RateLimit = { qps: 50, burst: 100 };
/** How long the agent's end waits for the API server to take what is left. */
const DRAIN_MS = 3_000;

/** Creates and starts the module; it closes with the scope. */
export async function startEvents(options: EventsOptions, deps: EventsDeps): Promise<Events> {
  const events = new Events(options, deps);
  await events.open();
  return events;
}

/** The module; `startEvents` creates it. */
export class Events implements PodEvents, NodeEvents, ObjectEvents {
  /** For programs that embed the agent: records events about any object. */
  readonly recorder: Recorder;
  readonly counts: EventCounts;
  readonly #options: EventsOptions;
  readonly #deps: EventsDeps;
  readonly #rules: EventRules;
  readonly #broadcaster: Broadcaster;
  readonly #correlator: Correlator;
  readonly #history: History;
  readonly #sink: Sink | undefined;
  readonly #referenceSink: ReferenceSink | undefined;
  readonly #viewers = new Set<(event: CoreEvent) => void>();
  /** UID of the node's first object that was seen. */
  #nodeUid: string | undefined;

  constructor(options: EventsOptions, deps: EventsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#rules = eventRules(options.policy);
    this.counts = new EventCounts(deps.metrics);
    this.#broadcaster = this.#createBroadcaster();
    this.recorder = this.#createRecorder();
    this.#correlator = new Correlator(this.#rules.correlator);
    const { folder } = options;
    this.#history = new History({ folder, bytes: this.#rules.historyBytes }, deps);
    const isReference = this.#rules.mode === "Reference";
    this.#sink = deps.api && !isReference ? this.#createSink(deps.api) : undefined;
    this.#referenceSink = deps.api && isReference ? this.#createReferenceSink(deps.api) : undefined;
  }

  /** Restores what the previous run left and begins. `startEvents` calls it. */
  async open(): Promise<void> {
    const { scope, metrics, api, log } = this.#deps;
    await this.#history.open();
    await this.#sink?.open();
    scope.defer("events", () => this.close());
    metrics.collected(
      {
        name: "nodelet_events_waiting",
        help: "Events that wait for the API server.",
        type: "gauge",
      },
      () => [{ value: this.waiting }],
    );
    this.#broadcaster.watch("log", (event) => this.#log(event));
    this.#broadcaster.watch("events", (event) => this.#take(event));
    if (!api) log.info("no API server: events are kept on the node only");
    else scope.spawn("events to the API server", "restart", (signal) => this.#runSink(signal));
  }

  /** Accepts no more events; those in queues are delivered, written or left on disk. */
  async close(): Promise<void> {
    await this.#broadcaster.close();
    await this.#sink?.close();
    await this.#history.flush();
  }

  /** Records an event about a pod or one of its containers; ignored for a container that its spec does not name. */
  ofPod(pod: Pod, text: PodEventText, container?: string): void {
    const object = container === undefined ? podReference(pod) : containerReference(pod, container);
    if (object) this.ofObject(object, tidied(text, container));
  }

  /**
   * Records an event about the node, with the UID of its object once that is known. The UID is kept until the agent
   * ends, even if the object is replaced, so that events go on being counted together.
   */
  ofNode(text: EventText): void {
    this.#nodeUid ??= this.#deps.node?.get()?.metadata?.uid;
    this.ofObject(nodeReference(this.#options.nodeName, text.reason, this.#nodeUid), text);
  }

  /** Records an event about any object. */
  ofObject(object: ObjectReference, text: AnnotatedEventText): void {
    this.recorder.event(object, text);
  }

  /** Events that wait for the API server. */
  get waiting(): number {
    return this.#sink?.waiting ?? this.#referenceSink?.waiting ?? 0;
  }

  /** The latest events, each with its count, the one that happened last at the end. Marks are annotations. */
  list(): readonly CoreEvent[] {
    return this.#history.list();
  }

  /** Events of the history on disk that match, in the same form and order. */
  read(query: EventQuery): Promise<readonly CoreEvent[]> {
    return this.#history.read(query);
  }

  /** Calls `onEvent` with every event that happens, in the form of `list`, until the result is called. */
  watch(onEvent: (event: CoreEvent) => void): () => void {
    this.#viewers.add(onEvent);
    return () => {
      this.#viewers.delete(onEvent);
    };
  }

  /** Passes every event to `handler` as it was recorded, through a queue of its own. */
  addWatcher(name: string, handler: EventHandler): () => void {
    return this.#broadcaster.watch(name, handler);
  }

  #take(event: CoreEvent): void {
    const correlation = this.#correlator.correlate(event, this.recorder.moment());
    const kept = this.#history.keep(event, correlation);
    if (this.#referenceSink) this.#referenceSink.offer(event);
    else if (!this.#sink) this.counts.settled("kept");
    else if (correlation.filtered) this.counts.dropped("filtered");
    else this.#sink.offer(correlation);
    if (this.#viewers.size === 0) return;
    const shown = withMarks(kept.event, kept.marks);
    for (const viewer of this.#viewers) viewer(shown);
  }

  #log({ involvedObject, type, reason, message }: CoreEvent): void {
    const { log } = this.#deps;
    if (!log.enabled(LOG_VERBOSITY)) return;
    const { namespace = "", name = "", fieldPath = "", kind, apiVersion } = involvedObject;
    const object = namespace === "" ? name : `${namespace}/${name}`;
    log.verbose(LOG_VERBOSITY, "Event occurred", {
      object,
      fieldPath,
      kind,
      apiVersion,
      type,
      reason,
      message,
    });
  }

  /** Records which events were lost while the API server was unreachable, now that it is back. */
  #recordLost({ count, from, to, reasons }: LostEvents): void {
    const text = reasons.map(([reason, times]) => `${times} ${reason}`).join(", ");
    const reason: EventReason = "EventsDropped";
    const message = `${count} events were lost between ${from} and ${to} because the queue was full while they waited for the API server: ${text}`;
    this.ofNode({ type: "Warning", reason, message });
  }

  async #runSink(signal: AbortSignal): Promise<void> {
    const drain = new AbortController();
    const { clock } = this.#deps;
    let cancel: (() => void) | undefined;
    const onAbort = () => {
      cancel = clock.alarm(DRAIN_MS, () => drain.abort(new Error("the agent ends")));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await (this.#sink ?? this.#referenceSink)?.run(signal, drain.signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      cancel?.();
    }
  }

  #createBroadcaster(): Broadcaster {
    const { inboundLimit, watcherLimit, mode } = this.#rules;
    return new Broadcaster(
      { inboundLimit, watcherLimit, reservesLane: mode === "Protected" },
      { ...this.#deps, onMissed: (watcher) => this.counts.missed(watcher) },
    );
  }

  #createRecorder(): Recorder {
    return new Recorder({
      ...this.#deps,
      source: { component: COMPONENT, host: this.#options.nodeName },
      publish: (event) => {
        this.counts.recorded();
        return this.#broadcaster.publish(event);
      },
      onLost: (why, event) => {
        if (!event) this.counts.recorded();
        this.counts.dropped(why);
      },
    });
  }

  get #rate(): RateLimit {
    const { qps, burst } = this.#options.rate ?? DEFAULT_RATE;
    return { qps, burst: Math.max(1, burst) };
  }

  #createSink(api: EventApi): Sink {
    const { state, clock } = this.#deps;
    const { folder } = this.#options;
    const { waitingEvents, waitingBytes } = this.#rules;
    const spool = new Spool(
      { path: `${folder}/waiting.jsonl` },
      { state, clock, onSpooled: ({ event }) => this.#history.follow(event, "spooled") },
    );
    return new Sink(
      { rate: this.#rate, waitingEvents, waitingBytes },
      {
        ...this.#deps,
        api,
        counts: this.counts,
        spool,
        onOutcome: (event, outcome) => this.#history.follow(event, outcome),
        onCaughtUp: (lost) => this.#recordLost(lost),
      },
    );
  }

  #createReferenceSink(api: EventApi): ReferenceSink {
    return new ReferenceSink(this.#rate, {
      ...this.#deps,
      api,
      correlator: new Correlator(this.#rules.correlator),
      moment: () => this.recorder.moment(),
      counts: this.counts,
    });
  }
}

/** The message without container ids, which would make every attempt another event. */
function tidied(
  { containerId, ...text }: PodEventText,
  container: string | undefined,
): AnnotatedEventText {
  if (!containerId || container === undefined) return text;
  return { ...text, message: text.message.replaceAll(containerId, container) };
}
