/**
 * Liveness, readiness and startup probes. Owns: the verdict per container and probe. In: for every pod,
 * what is to be probed (`watch`), as it is now. Out: verdicts when they change, events, metrics, history.
 * Invariants: a probe runs once at a time; a verdict names the container it is about and is never of
 * one that was replaced; nothing is left running for a pod that is no longer watched.
 */
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry, Sample } from "../../kit/metrics.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { FairSlots } from "./fair-slots.ts";
import type { LookPorts } from "./look.ts";
import { Prober } from "./prober.ts";
import type { ProbeEvent, ProbeRecord, ProbeReport, ProbeVerdict } from "./report.ts";
import { Schedule } from "./schedule.ts";
import { Spread } from "./spread.ts";
import { kindsOf, type ProbedPod, type ProbeTarget } from "./target.ts";
import type { ProbeKind } from "./verdict.ts";

export type {
  ProbedPod,
  ProbeEvent,
  ProbeKind,
  ProbeRecord,
  ProbeReport,
  ProbeTarget,
  ProbeVerdict,
};

/** What the room needs from outside and from its user. */
export interface ProbesDeps extends LookPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
  /** The registry behind `/metrics/probes`. */
  readonly metrics: MetricsRegistry;
  /** Neither may throw. */
  readonly onVerdict: (verdict: ProbeVerdict) => void;
  readonly recordEvent: (event: ProbeEvent) => void;
}

/** Limits of the room. */
export interface ProbesOptions {
  /** Exec probes under way at once, on the whole node and for one pod; the runtime pays for each. */
  readonly execInFlight: number;
  readonly execInFlightPerPod: number;
  /** Looks that are remembered of each probe. */
  readonly historyLength: number;
}

/** Sixteen exec probes at once keep two cores busy without starving anybody; a hung pod takes four. */
export const DEFAULT_PROBES_OPTIONS: ProbesOptions = {
  execInFlight: 16,
  execInFlightPerPod: 4,
  historyLength: 20,
};

/** The room as its user sees it. */
export interface Probes {
  /**
   * Says what is to be probed of a pod from now on, and how its containers are. To be called on every
   * turn of the pod: probes that are new begin, those no longer named end, all others learn the facts.
   * A readiness probe of a started container that is not known to be ready looks at once.
   */
  watch(pod: ProbedPod, targets: readonly ProbeTarget[]): void;
  /** Ends all probes of a pod. */
  forget(podUid: string): void;
  /** Every probe with its last looks, in no particular order. */
  history(): readonly ProbeReport[];
}

/** Begins with nothing to probe; ends with the scope. */
export function createProbes(
  deps: ProbesDeps,
  options: ProbesOptions = DEFAULT_PROBES_OPTIONS,
): Probes {
  return new ProbeRoom(deps, options);
}

const METRIC_TYPE: Readonly<Record<ProbeKind, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};

class ProbeRoom implements Probes {
  readonly #pods = new Map<string, Map<string, Prober>>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #newProber: (kind: ProbeKind, pod: ProbedPod, target: ProbeTarget) => Prober;
  readonly #forgetMetrics: (prober: Prober) => void;
  #closed = false;

  constructor(deps: ProbesDeps, options: ProbesOptions) {
    const { clock } = deps;
    const schedule = new Schedule(clock);
    const execSlots = new FairSlots({
      total: options.execInFlight,
      perOwner: options.execInFlightPerPod,
    });
    const metrics = this.#register(deps.metrics, execSlots);
    this.#forgetMetrics = metrics.forget;
    const shared = {
      clock,
      random: deps.random,
      log: deps.log,
      ports: { runtime: deps.runtime, net: deps.net },
      schedule,
      spread: new Spread(),
      execSlots,
      agentStartedAt: clock.monotonic(),
      historyLength: options.historyLength,
      onVerdict: deps.onVerdict,
      recordEvent: deps.recordEvent,
      onLook: metrics.observe,
      track: (work: Promise<void>) => this.#track(work),
    };
    this.#newProber = (kind, pod, target) => new Prober(kind, pod, target, shared);
    deps.scope.defer("probes", async () => {
      this.#closed = true;
      schedule.close();
      for (const uid of [...this.#pods.keys()]) this.forget(uid);
      await Promise.all(this.#inFlight);
    });
  }

  watch(pod: ProbedPod, targets: readonly ProbeTarget[]): void {
    if (this.#closed) return;
    const before = this.#pods.get(pod.uid);
    const now = new Map<string, Prober>();
    for (const target of targets) {
      for (const kind of kindsOf(target.spec)) {
        const key = `${target.spec.name}/${kind}`;
        const prober = before?.get(key);
        prober?.update(pod, target);
        now.set(key, prober ?? this.#newProber(kind, pod, target));
      }
    }
    if (now.size > 0) this.#pods.set(pod.uid, now);
    else this.#pods.delete(pod.uid);
    for (const [key, prober] of before ?? []) {
      if (!now.has(key)) this.#end(prober);
    }
  }

  forget(podUid: string): void {
    const probers = this.#pods.get(podUid);
    this.#pods.delete(podUid);
    for (const prober of probers?.values() ?? []) this.#end(prober);
  }

  history(): readonly ProbeReport[] {
    return [...this.#probers()].map((prober) => prober.report());
  }

  *#probers(): Iterable<Prober> {
    for (const probers of this.#pods.values()) yield* probers.values();
  }

  #end(prober: Prober): void {
    prober.stop();
    this.#forgetMetrics(prober);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#inFlight.delete(tracked));
    this.#inFlight.add(tracked);
  }

  #register(registry: MetricsRegistry, execSlots: FairSlots) {
    registry.collected(
      {
        name: "prober_probe_total",
        help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
        type: "counter",
      },
      () => this.#totals(),
    );
    const duration = registry.histogram({
      name: "prober_probe_duration_seconds",
      help: "Duration in seconds for a probe response.",
    });
    const lateness = registry.histogram({
      name: "nodelet_probe_lateness_seconds",
      help: "How much later than its turn a probe began.",
    });
    registry.collected(
      {
        name: "nodelet_exec_probes",
        help: "Exec probes that run, and that wait for others to end.",
        type: "gauge",
      },
      () => [
        { value: execSlots.held, labels: { state: "running" } },
        { value: execSlots.waiting, labels: { state: "waiting" } },
      ],
    );
    return {
      observe: (prober: Prober, record: ProbeRecord) => {
        lateness.observe(Math.max(0, record.lateMs) / 1000);
        // The reference measures what came to an end with an answer that is not a failure.
        if (record.result !== "failure") {
          duration.observe(record.durationMs / 1000, durationLabels(prober));
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
      const labels = { ...durationLabels(prober), pod_uid: prober.pod.uid };
      for (const [result, value] of Object.entries(prober.counts)) {
        if (value > 0) yield { value, labels: { ...labels, result } };
      }
    }
  }
}

function durationLabels(prober: Prober) {
  return {
    probe_type: METRIC_TYPE[prober.kind],
    container: prober.container,
    pod: prober.pod.name,
    namespace: prober.pod.namespace,
  };
}

/** A static pod and its successor have the same name for a moment. */
function sameLabels(a: Prober, b: Prober): boolean {
  return (
    a.kind === b.kind &&
    a.container === b.container &&
    a.pod.name === b.pod.name &&
    a.pod.namespace === b.pod.namespace
  );
}
