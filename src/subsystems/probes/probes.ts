/**
 * Liveness, readiness and startup probes. Owns: the verdict per container and probe. In: for every pod
 * its containers with probes (`watch`), as they are now. Out: verdicts when they change, events, metrics, history.
 * Invariants: a probe runs once at a time; a verdict names the container it is about and is never of
 * one that was replaced; nothing is left running for a pod that is no longer watched.
 *
 * Example:
 *     const probes = new Probes(deps); // verdicts are published to deps.news
 *     probes.watch({ pod, ip, ended: false, ending: false }, targets); // on every turn of the pod
 *     probes.forget(pod.metadata.uid);
 */

import type { ObjectMeta } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import type { ProbeKind } from "../../api/probe-result.ts";
import type { ProbeTarget } from "../../api/probe-target.ts";
import type { Clock } from "../../kit/clock.ts";
import { roundRobin, Slots } from "../../kit/limits/slots.ts";
import type { Log } from "../../kit/log.ts";
import type { HistogramSeries, MetricsRegistry, Sample } from "../../kit/metrics.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Publisher } from "../../kit/topic.ts";
import { FineRate } from "./fine-rate.ts";
import { type ContainerProcesses, ExecGuard } from "./handlers/exec-guard.ts";
import { Prober } from "./prober.ts";
import type { ProbeRecord, ProbeReport } from "./report.ts";
import type { ProbePorts, ProbeProtocols } from "./run-probe.ts";
import { Schedule } from "./schedule.ts";
import { type ProbeSettings, parseProbeSettings, settingKey } from "./settings.ts";
import { Spread } from "./spread.ts";
import { kindsOf, type ProbedPod, type Watched } from "./target.ts";

export { containerProcesses } from "./handlers/container-processes.ts";
export type { ProbedPod, ProbeRecord, ProbeReport };

export interface ProbesDeps extends Omit<ProbePorts, "guard" | "protocols"> {
  readonly clock: Clock;
  /** Processes of containers; without them what exec probes leave behind goes on. */
  readonly processes?: ContainerProcesses;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
  /** The registry behind `/metrics/probes`. */
  readonly metrics: MetricsRegistry;
  /** Called for every verdict when it changes. */
  readonly news: Publisher<PodNews>;
  readonly events: PodEvents;
}

/** Limits of the module. */
export interface ProbesOptions {
  /** Exec probes under way at once, on the whole node and for one pod; the runtime pays for each. */
  readonly execInFlight: number;
  readonly execInFlightPerPod: number;
  /** Attempts that are kept of each probe. */
  readonly historyLength: number;
  /** Attempts per second of all probes with a period set by annotation. */
  readonly fineAttemptsPerSecond: number;
  /** Whether exec probes that ran out of time are ended with all they started, unless set by the pod. */
  readonly endLeftovers: boolean;
  readonly protocols: ProbeProtocols;
}

/** Sixteen exec probes at once keep two cores busy without starving anybody; a hung pod takes four. */
export const DEFAULT_PROBES_OPTIONS: ProbesOptions = {
  execInFlight: 16,
  execInFlightPerPod: 4,
  historyLength: 20,
  fineAttemptsPerSecond: 200,
  endLeftovers: true,
  protocols: { http2: false, grpcTls: false },
};

const METRIC_TYPE: Readonly<Record<ProbeKind, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};

/** Settings with the annotations they were read from. */
interface PodSettings {
  readonly annotations: ObjectMeta["annotations"];
  readonly settings: ProbeSettings;
}

/** Begins with nothing to probe; ends with the scope. */
export class Probes {
  readonly #pods = new Map<string, Map<string, Prober>>();
  /** Attempts under way of probes that were stopped. */
  readonly #inFlight = new Set<Promise<void>>();
  readonly #settings = new Map<string, PodSettings>();
  readonly #newProber: (kind: ProbeKind, watched: Watched) => Prober;
  readonly #events: PodEvents;
  readonly #forgetMetrics: (prober: Prober) => void;
  #closed = false;

  constructor(deps: ProbesDeps, options: ProbesOptions = DEFAULT_PROBES_OPTIONS) {
    const { clock } = deps;
    const schedule = new Schedule(clock);
    const execSlots = new Slots({
      total: options.execInFlight,
      perGroup: options.execInFlightPerPod,
      order: roundRobin,
    });
    const fineRate = new FineRate(options.fineAttemptsPerSecond);
    const metrics = this.#register(deps.metrics, execSlots);
    this.#forgetMetrics = metrics.forget;
    const shared = {
      clock,
      random: deps.random,
      log: deps.log,
      ports: {
        runtime: deps.runtime,
        net: deps.net,
        protocols: options.protocols,
        clock,
        ...(deps.processes ? { guard: new ExecGuard(deps.processes, clock) } : {}),
      },
      schedule,
      spread: new Spread(),
      fineRate,
      execSlots,
      agentStartedAt: clock.monotonic(),
      historyLength: options.historyLength,
      endLeftovers: options.endLeftovers,
      news: deps.news,
      events: deps.events,
      onProbe: metrics.observe,
    };
    this.#newProber = (kind, watched) => new Prober(kind, watched, shared);
    this.#events = deps.events;
    deps.scope.defer("probes", async () => {
      this.#closed = true;
      schedule.close();
      for (const uid of [...this.#pods.keys()]) this.forget(uid);
      await Promise.all(this.#inFlight);
    });
  }

  /**
   * Says what is to be probed of a pod from now on, and how its containers are. To be called on every
   * turn of the pod: probes that are new begin, those no longer named end, all others learn the facts.
   * A readiness probe of a started container that is not known to be ready starts an attempt at once.
   */
  watch({ pod, ip, ended, ending }: ProbedPod, targets: readonly ProbeTarget[]): void {
    if (this.#closed) return;
    const { uid } = pod.metadata;
    const before = this.#pods.get(uid);
    const now = new Map<string, Prober>();
    const settings = this.#settingsOf(pod, targets);
    for (const target of targets) {
      for (const kind of kindsOf(target.spec)) {
        const key = settingKey(target.spec.name, kind);
        const watched = { pod, ip, ended, ending, target, settings };
        const prober = before?.get(key);
        prober?.update(watched);
        now.set(key, prober ?? this.#newProber(kind, watched));
      }
    }
    if (now.size > 0) this.#pods.set(uid, now);
    else this.#drop(uid);
    for (const [key, prober] of before ?? []) {
      if (!now.has(key)) this.#end(prober);
    }
  }

  /** Ends all probes of a pod. */
  forget(podUid: string): void {
    const probers = this.#pods.get(podUid);
    this.#drop(podUid);
    for (const prober of probers?.values() ?? []) this.#end(prober);
  }

  /** Every probe with its last attempts, in no particular order. */
  history(): readonly ProbeReport[] {
    return [...this.#probers()].map((prober) => prober.report());
  }

  #drop(podUid: string): void {
    this.#pods.delete(podUid);
    this.#settings.delete(podUid);
  }

  /** The pod's own settings, read again when the pod was changed. */
  #settingsOf(pod: IdentifiedPod, targets: readonly ProbeTarget[]): ProbeSettings {
    const { uid, annotations } = pod.metadata;
    const known = this.#settings.get(uid);
    if (known && known.annotations === annotations) return known.settings;
    const keys = targets.flatMap(({ spec }) =>
      kindsOf(spec).map((kind) => settingKey(spec.name, kind)),
    );
    const settings = parseProbeSettings(annotations ?? {}, new Set(keys));
    this.#settings.set(uid, { annotations, settings });
    const message = settings.problems.join("; ");
    if (message !== "" && message !== known?.settings.problems.join("; "))
      this.#events.ofPod(pod, { type: "Warning", reason: "ProbeWarning", message });
    return settings;
  }

  *#probers(): Iterable<Prober> {
    for (const probers of this.#pods.values()) yield* probers.values();
  }

  #end(prober: Prober): void {
    const probing = prober.stop();
    this.#forgetMetrics(prober);
    if (probing === undefined) return;
    this.#inFlight.add(probing);
    void probing.then(() => this.#inFlight.delete(probing));
  }

  #register(registry: MetricsRegistry, execSlots: Slots) {
    registry.collected(METRICS.prober_probe_total, () => this.#totals());
    const duration = registry.histogram(METRICS.prober_probe_duration_seconds);
    const lateness = registry.histogram({
      name: "nodelet_probe_lateness_seconds",
      help: "Delay of probes after their scheduled time.",
    });
    registry.collected(
      {
        name: "nodelet_exec_probes",
        help: "Exec probes that are running, or waiting for others to finish.",
        type: "gauge",
      },
      () => [
        { value: execSlots.held, labels: { state: "running" } },
        { value: execSlots.waiting, labels: { state: "waiting" } },
      ],
    );
    const killed = registry.counter({
      name: "nodelet_exec_probe_killed_processes_total",
      help: "Processes killed because their exec probe timed out.",
    });
    const execTime = registry.counter({
      name: "nodelet_exec_probe_seconds_total",
      help: "Total time spent in exec probes.",
    });
    const lateSeries = lateness.series({});
    const durations = new WeakMap<Prober, HistogramSeries>();
    const durationOf = (prober: Prober) => {
      const known = durations.get(prober) ?? duration.series(durationLabels(prober));
      durations.set(prober, known);
      return known;
    };
    return {
      observe: (prober: Prober, record: ProbeRecord) => {
        lateSeries.observe(Math.max(0, record.lateMs) / 1000);
        if (prober.handler === "exec") execTime.add({}, record.durationMs / 1000);
        if (record.killed) killed.add({}, record.killed);
        // The Go kubelet measures what came to an end with an answer that is not a failure.
        if (record.result !== "failure") {
          durationOf(prober).observe(record.durationMs / 1000);
        }
      },
      forget: (prober: Prober) => {
        const labels = durationLabels(prober);
        const isShared = [...this.#probers()].some((other) => sameLabels(other, prober));
        if (!isShared) duration.remove(labels);
      },
    };
  }

  *#totals(): Iterable<Sample> {
    for (const prober of this.#probers()) {
      const labels = { ...durationLabels(prober), pod_uid: prober.pod.metadata.uid };
      for (const [result, value] of Object.entries(prober.log.counts)) {
        if (value > 0) yield { value, labels: { ...labels, result } };
      }
    }
  }
}

function durationLabels(prober: Prober) {
  return {
    probe_type: METRIC_TYPE[prober.kind],
    container: prober.container,
    pod: prober.pod.metadata.name,
    namespace: prober.pod.metadata.namespace,
  };
}

/** A static pod and its successor have the same name for a moment. */
function sameLabels(a: Prober, b: Prober): boolean {
  return (
    a.kind === b.kind &&
    a.container === b.container &&
    podDisplayName(a.pod) === podDisplayName(b.pod)
  );
}
