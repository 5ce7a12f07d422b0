import assert from "node:assert/strict";
import type { PodEventText } from "../../src/api/event-text.ts";
import type { Container, Probe } from "../../src/api/generated/types.ts";
import { containerFieldPath, findContainer } from "../../src/api/pod/pod.ts";
import type { IdentifiedPod, PodUid } from "../../src/api/pod-identity.ts";
import type { PodNews } from "../../src/api/pod-news.ts";
import type { ProbeKind } from "../../src/api/probe-result.ts";
import type { ProbeTarget } from "../../src/api/probe-target.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import type { Random } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import type { ExecResult } from "../../src/outside/cri/cri.ts";
import { VersionResponse } from "../../src/outside/cri/generated/api.ts";
import type { ConnectAnswer } from "../../src/outside/net/net.ts";
import type { ContainerProcesses } from "../../src/subsystems/probes/handlers/exec-guard.ts";
import {
  DEFAULT_PROBES_OPTIONS,
  type ProbedPod,
  Probes,
  type ProbesOptions,
} from "../../src/subsystems/probes/probes.ts";
import { SimClock } from "../sim/sim-clock.ts";

/** An attempt that the fake pods saw. */
export interface Seen {
  readonly at: number;
  /** Host of a TCP probe, or container id of an exec probe. */
  readonly target: string;
}

/** What a probe reported, and when. */
export type Verdict = Extract<PodNews, { readonly kind: "probed" }> & { readonly atMs: WallMs };

/** An event that a probe reported. */
interface ReportedEvent extends PodEventText {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly container: string | undefined;
  readonly fieldPath: string | undefined;
}

function reportedEvent(pod: IdentifiedPod, text: PodEventText, container?: string): ReportedEvent {
  const { uid: podUid, namespace, name: podName } = pod.metadata;
  const found = container === undefined ? undefined : findContainer(pod, container);
  const fieldPath = found && containerFieldPath(found);
  return { podUid, namespace, podName, container, fieldPath, ...text };
}

export interface WorldOptions extends Partial<ProbesOptions> {
  readonly processes?: ContainerProcesses;
  readonly random?: Random;
  /** Virtual milliseconds that the agent is up before the test begins. */
  readonly agentAgeMs?: number;
}

/** No jitter at all. */
const NO_RANDOM: Random = { next: () => 0, hex: () => "" };

/** Probes on virtual time over pods whose answers a test scripts. */
export class World {
  readonly clock = new SimClock();
  readonly metrics = new MetricsRegistry();
  readonly scope: TaskScope;
  readonly verdicts: Verdict[] = [];
  readonly events: ReportedEvent[] = [];
  readonly seen: Seen[] = [];
  runningNow = 0;
  /** What a TCP probe of `host` gets; may wait on the clock. */
  answer: (host: string, signal: AbortSignal) => ConnectAnswer | Promise<ConnectAnswer> = () => ({
    kind: "connected",
  });
  /** What a command gets; `seconds` is the time that the runtime is to give it. */
  exec: (
    containerId: string,
    signal: AbortSignal,
    seconds: number,
  ) => ExecResult | Promise<ExecResult> = () => exited(0);
  /** Answer of the runtime about itself; may never come. */
  version: () => Promise<VersionResponse> = async () => VersionResponse.fromPartial({});
  readonly probes: Probes;
  /** Virtual time at which the test begins. */
  readonly zero: number;

  private constructor(options: WorldOptions, zero: number, clock: SimClock) {
    this.clock = clock;
    this.zero = zero;
    this.scope = new TaskScope("test", { clock, log: silentLog });
    this.probes = new Probes(
      {
        clock,
        random: options.random ?? NO_RANDOM,
        log: silentLog,
        scope: this.scope,
        metrics: this.metrics,
        runtime: {
          execSync: (id, _command, seconds, signal) =>
            this.#counted(id, async () => await this.exec(id, signal, seconds)),
          version: async () => await this.version(),
        },
        net: {
          http: () => Promise.reject(new Error("not in this world")),
          grpcHealth: () => Promise.reject(new Error("not in this world")),
          tcpConnect: (host, _port, _timeoutMs, signal) =>
            this.#counted(host, async () => await this.answer(host, signal)),
        },
        ...(options.processes ? { processes: options.processes } : {}),
        news: { publish: (news) => this.#received(news) },
        events: {
          ofPod: (pod, text, container) => this.events.push(reportedEvent(pod, text, container)),
        },
      },
      { ...DEFAULT_PROBES_OPTIONS, ...options },
    );
  }

  static async create(options: WorldOptions = {}): Promise<World> {
    const clock = new SimClock();
    const agentAgeMs = options.agentAgeMs ?? 3_600_000;
    const world = new World(options, agentAgeMs, clock);
    await clock.advance(agentAgeMs);
    return world;
  }

  /** Seconds since the test began. */
  get seconds(): number {
    return (this.clock.monotonic() - this.zero) / 1000;
  }

  /** When attempts began, in seconds since the test began. */
  attempts(target?: string): readonly number[] {
    return this.seen
      .filter((seen) => target === undefined || seen.target === target)
      .map(({ at }) => at);
  }

  /** Verdicts as `kind result at` with seconds, cut to hundredths: probes are put off a little to spread them. */
  news(): readonly string[] {
    const zeroWall = this.clock.wall() - (this.clock.monotonic() - this.zero);
    return this.verdicts.map(
      ({ probe, result, atMs }) => `${probe} ${result} ${Math.floor((atMs - zeroWall) / 10) / 100}`,
    );
  }

  #received(news: PodNews): void {
    assert.equal(news.kind, "probed");
    if (news.kind === "probed") this.verdicts.push({ ...news, atMs: this.clock.wall() });
  }

  async #counted<T>(target: string, attempt: () => Promise<T>): Promise<T> {
    this.seen.push({ at: this.seconds, target });
    this.runningNow += 1;
    try {
      return await attempt();
    } finally {
      this.runningNow -= 1;
    }
  }
}

export function exited(exitCode: number, stdout = "", stderr = ""): ExecResult {
  const encode = (text: string) => new TextEncoder().encode(text);
  return { exitCode, stdout: encode(stdout), stderr: encode(stderr) };
}

export const REFUSED: ConnectAnswer = { kind: "failure", message: "connection refused" };
export const CONNECTED: ConnectAnswer = { kind: "connected" };

interface PodOptions extends Partial<Omit<ProbedPod, "pod">> {
  readonly uid?: string;
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function pod({ uid = "uid-1", name = "web", ...more }: PodOptions = {}): ProbedPod {
  const { annotations, ...facts } = more;
  const metadata = { uid: uid as PodUid, namespace: "default", name };
  return {
    pod: {
      metadata: annotations ? { ...metadata, annotations } : metadata,
      spec: { containers: [{ name: "app" }] },
    },
    ip: "10.0.0.1",
    ended: false,
    ending: false,
    ...facts,
  };
}

const FIELD: Readonly<Record<ProbeKind, keyof Container>> = {
  liveness: "livenessProbe",
  readiness: "readinessProbe",
  startup: "startupProbe",
};

/** A running container with TCP probes whose numbers are given. */
export function target(
  probes: Partial<Record<ProbeKind, Probe>>,
  more: Partial<ProbeTarget> & { readonly startedAtMs: WallMs | undefined },
): ProbeTarget {
  const spec: Record<string, unknown> = { name: "app" };
  for (const [kind, probe] of Object.entries(probes)) {
    spec[FIELD[kind as ProbeKind]] = probe.exec ? probe : { tcpSocket: { port: 80 }, ...probe };
  }
  return {
    spec: spec as unknown as Container,
    kind: "regular",
    containerId: "c1",
    running: true,
    started: true,
    confirmed: { startup: false, readiness: false },
    comesBack: true,
    ...more,
  };
}
