import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectedRuntime, connectCri } from "../../src/outside/cri/connect-cri.ts";
import { type Box, startBox } from "../../test/box/box.ts";
import { TEST_IMAGE } from "../../test/box/images.ts";
import { FloorRunner } from "./floor.ts";
import { askKubelet, type Kubelet, RunningKubelet } from "./kubelet.ts";
import type { BenchOptions } from "./options.ts";
import { PodObserver } from "./pod-observer.ts";
import { benchPod } from "./pods.ts";
import { processFigures } from "./process-figures.ts";
import type { Floor, PodTimes, Round, Steady, Together } from "./result.ts";
import { untilStopped } from "./runtime-state.ts";
import { watchAgent } from "./watch-agent.ts";

/** Pause between two questions: short for one pod, longer where the answers are long. */
const ONE_POLL_MS = 8;
const MANY_POLL_MS = 100;
/** Nobody is faster than the floor: for this share of it one pod is not asked about, as asking costs, too. */
const SURELY_NOT_YET = 0.7;
/** The CPU time of what an agent still does about pods that are ready already counts as theirs. */
export const TAIL_MS = 500;
const FEW_PODS = 10;
/** For anything that should take seconds. */
export const TIMEOUT_MS = 120_000;
/** Space on the box's disk for many pods and the logs of an agent, in memory. */
export const STORE_MIB = 2048;

/** What a round found out, and about whom. */
export interface RoundResult<R = Round> {
  readonly kubelet: Kubelet;
  readonly runtime: string;
  readonly round: R;
}

/** Who is to be measured, and how it goes on. */
export interface RoundOptions {
  readonly label: string;
  readonly path: string;
  readonly options: BenchOptions;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Measures one kubelet on a fresh node of its own, the floor of that node first. */
export async function measureRound(order: RoundOptions): Promise<RoundResult> {
  const { label, path, options, say, signal } = order;
  await using box = await startBox({ containerd: options.containerd, storeMib: STORE_MIB });
  const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: TIMEOUT_MS });
  try {
    const { runtimeName, runtimeVersion } = await cri.runtime.version(signal);
    const kubelet = await askKubelet(box, label, path);
    say("the floor: bare calls to the runtime");
    const floor = await new FloorRunner(box, cri, signal).measure(options);
    const agent = await new AgentRun({ box, cri }, order, floor).measure(kubelet);
    const runtime = `${runtimeName} ${runtimeVersion}`;
    return { kubelet, runtime, round: { floor, ...agent } };
  } catch (error) {
    throw new Error(`${label}: the round failed\n${lastLines(box, label)}`, { cause: error });
  } finally {
    cri.close();
  }
}

type AgentFigures = Omit<Round, "floor">;

class AgentRun {
  readonly #box: Box;
  readonly #cri: ConnectedRuntime;
  readonly #order: RoundOptions;
  /** No pod runs earlier than this after its creation. */
  readonly #earliestMs: number;

  constructor(
    parts: { readonly box: Box; readonly cri: ConnectedRuntime },
    order: RoundOptions,
    floor: Floor,
  ) {
    this.#box = parts.box;
    this.#cri = parts.cri;
    this.#order = order;
    this.#earliestMs = SURELY_NOT_YET * Math.min(...floor.single.runningMs);
  }

  async measure(kubelet: Kubelet): Promise<AgentFigures> {
    const { options, say, signal } = this.#order;
    const agent = await RunningKubelet.start(this.#box, kubelet, options.cpuProfile);
    await using observer = new PodObserver(this.#box, agent.podsAddress);
    observer.every(MANY_POLL_MS / 4);
    const answeredAt = await observer.answered(TIMEOUT_MS, signal);
    observer.every(0);
    const parts = { agent, observer };
    say(`no pods, ${options.idleSeconds} s`);
    const idle = await this.#watch(agent, 0, options.idleSeconds);
    say(`${options.singles} pods one at a time`);
    const single = await this.#oneAtATime(parts);
    const withFew: Steady[] = [];
    if (options.pods > FEW_PODS) {
      say(`${FEW_PODS} pods`);
      withFew.push((await this.#atOnce(parts, { name: "few", count: FEW_PODS })).steady);
    }
    say(`${options.pods} pods at once`);
    const { together, steady } = await this.#atOnce(parts, { name: "many", count: options.pods });
    const probing = options.probes ? await this.#probing(parts) : undefined;
    agent.process.assertRunning();
    await agent.process.stop();
    return {
      startUpMs: answeredAt - agent.process.startedAtMs,
      single,
      together,
      steady: [idle, ...withFew, steady],
      probing,
    };
  }

  async #oneAtATime(parts: Parts): Promise<Round["single"]> {
    const pods: PodTimes[] = [];
    const stoppedMs: number[] = [];
    for (let number = 0; number <= this.#order.options.singles; number++) {
      const { times, stop } = await this.#create(parts, {
        name: `single-${number}`,
        count: 1,
        pollMs: ONE_POLL_MS,
      });
      await this.#settle(0.1);
      const stopped = await stop();
      await this.#settle(0.1);
      // The first one finds everything cold.
      if (number === 0) continue;
      pods.push(...times);
      stoppedMs.push(...stopped);
    }
    return { pods, stoppedMs };
  }

  async #atOnce(
    parts: Parts,
    order: { readonly name: string; readonly count: number; readonly probes?: boolean },
  ): Promise<{ readonly together: Together; readonly steady: Steady }> {
    const { agent } = parts;
    await this.#settle();
    const before = processFigures(agent.process.pid).cpuMs;
    const { times, stop } = await this.#create(parts, { ...order, pollMs: MANY_POLL_MS });
    await sleep(TAIL_MS, undefined, { signal: this.#order.signal });
    const started = processFigures(agent.process.pid).cpuMs;
    const steady = await this.#watch(agent, order.count, this.#order.options.idleSeconds / 2);
    const stopping = processFigures(agent.process.pid).cpuMs;
    const stoppedMs = await stop();
    await sleep(TAIL_MS, undefined, { signal: this.#order.signal });
    const stopCpuMs = processFigures(agent.process.pid).cpuMs - stopping;
    return {
      together: { pods: times, startCpuMs: started - before, stoppedMs, stopCpuMs },
      steady,
    };
  }

  async #probing(parts: Parts): Promise<Steady> {
    const { pods } = this.#order.options;
    this.#order.say(`${pods} pods with two probes a second each`);
    return (await this.#atOnce(parts, { name: "probed", count: pods, probes: true })).steady;
  }

  /** Creates pods and waits until all are ready; `stop` ends them again and says how long that took. */
  async #create(
    { agent, observer }: Parts,
    order: {
      readonly name: string;
      readonly count: number;
      readonly pollMs: number;
      readonly probes?: boolean;
    },
  ): Promise<{ times: PodTimes[]; stop: () => Promise<number[]> }> {
    const { signal } = this.#order;
    const names = Array.from({ length: order.count }, (_, i) => `${order.name}-${i}`);
    const pods = names.map((name) => benchPod(name, TEST_IMAGE, { probes: order.probes ?? false }));
    const createdAt = agent.create(pods);
    await sleep(this.#earliestMs, undefined, { signal });
    observer.every(order.pollMs);
    const seen = await observer.ready(names, TIMEOUT_MS, signal);
    observer.every(0);
    const times = seen.map(({ running, ready }, i) => ({
      runningMs: running - (createdAt[i] ?? 0),
      readyMs: ready - (createdAt[i] ?? 0),
    }));
    const stop = async () => {
      const removedAt = agent.remove(names);
      const stopped = await untilStopped(this.#cri.runtime, names, TIMEOUT_MS, signal);
      return stopped.map((at, i) => at - (removedAt[i] ?? 0));
    };
    return { times, stop };
  }

  /** The agent's figures over a window in which the bench leaves it alone. */
  async #watch(agent: RunningKubelet, pods: number, seconds: number): Promise<Steady> {
    await this.#settle();
    return await watchAgent(agent.process.pid, { pods, seconds }, this.#order.signal);
  }

  async #settle(share = 1): Promise<void> {
    const { options, signal } = this.#order;
    await sleep(options.settleSeconds * share * 1000, undefined, { signal });
  }
}

interface Parts {
  readonly agent: RunningKubelet;
  readonly observer: PodObserver;
}

const SHOWN_LINES = 40;

/** The last lines of the agent's log; empty when it was not started. */
export function lastLines(box: Box, label: string): string {
  const file = join(box.folder, `${label}.log`);
  if (!existsSync(file)) return "";
  return readFileSync(file, "utf8").split("\n").slice(-SHOWN_LINES).join("\n");
}
