/** Terminates all pods of a node without an agent: runs the agent once more, without pod sources. */
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AgentOptions, launchAgent, type RunningAgent } from "../../agent.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import { type LoadedConfig, loadConfig } from "../../config/load.ts";
import { type ConnectedOutside, connectOutside } from "../../outside/connect.ts";
import { type PodSandbox, PodSandboxState } from "../../outside/cri/generated/api.ts";
import type { Host } from "../../outside/host/host.ts";
import { createLog } from "../../outside/log/log.ts";
import { counted } from "../../present/text.ts";
import { connectOptions } from "../../process/run.ts";
import { rootNote } from "../../subsystems/neighbors/neighbors.ts";
import type { UpPaths } from "../up/paths.ts";

/** Where pods are to be stopped, and how long they may take. */
export interface NodeStopRequest {
  readonly paths: UpPaths;
  /** Grace for every pod; `own` is that of each spec. */
  readonly graceSeconds: number | "own";
  /** How long pods may take to end. */
  readonly timeoutMs: number;
}

interface DrainRequest extends NodeStopRequest {
  readonly runtimeSocket: string;
  readonly nodeName: string;
  readonly host: Host;
  readonly print: (text: string) => void;
  /** Aborted when the user stops waiting. */
  readonly interrupt: AbortSignal;
}

const POLL_MS = 100;
/**
 * For calls to the runtime, which have a deadline of their own: a user who stops waiting still gets a list of what
 * is left.
 */
const TO_THE_END = new AbortController().signal;

/** Ends every pod; resolves with the names of those that are left when time is up. */
export async function drainPods(request: DrainRequest): Promise<readonly string[]> {
  const options = { rootFolder: request.paths.agentRoot };
  return await withAgent(request, options, (agent, outside) => untilEmpty(agent, outside, request));
}

/** Outcome of pods that were to be stopped. */
interface StoppedPods {
  readonly stopped: number;
  /** Those that still run when time is up. */
  readonly left: readonly string[];
}

/**
 * Stops every pod and leaves its containers, folders and volumes for the next agent. The agent that does it has a
 * root folder of its own for that time, so that it finds none of them there to clean up, and what the pods'
 * statuses reported last is not overwritten by their end.
 */
export async function stopPods(request: DrainRequest): Promise<StoppedPods> {
  const { paths, host } = request;
  const rootFolder = `${paths.runDir}/stopping`;
  mkdirSync(rootFolder, { recursive: true, mode: 0o700 });
  try {
    return await withAgent(request, { rootFolder, keepOrphans: true }, (agent, outside) =>
      untilStopped(agent, outside, request),
    );
  } finally {
    await host.volumes.unmount(rootFolder).catch(() => {});
    rmSync(rootFolder, { recursive: true, force: true });
    rmSync(rootNote(rootFolder), { force: true });
  }
}

type AgentSettings = Pick<AgentOptions, "rootFolder" | "keepOrphans">;

/** An agent without sources of pods, which therefore ends all it finds. */
async function withAgent<T>(
  request: DrainRequest,
  settings: AgentSettings,
  use: (agent: RunningAgent, outside: ConnectedOutside) => Promise<T>,
): Promise<T> {
  const { paths, nodeName, graceSeconds } = request;
  const { config } = await drainConfig(request);
  mkdirSync(dirname(paths.agentLog), { recursive: true, mode: 0o750 });
  const fd = openSync(paths.agentLog, "a", 0o640);
  const log = createLog({ format: "text", verbosity: 0, fd });
  const outside = connectOutside(connectOptions(config), log);
  try {
    const options = { config, nodeName, orphanGraceSeconds: graceSeconds, ...settings };
    await using agent = await launchAgent(options, outside);
    return await use(agent, outside);
  } finally {
    outside.close();
    log.flush();
    closeSync(fd);
  }
}

/**
 * The agent's own configuration without its sources of pods; one that cannot be used any more is passed
 * over, since pods must end all the same.
 */
async function drainConfig({ paths, runtimeSocket, host }: DrainRequest): Promise<LoadedConfig> {
  const always = [
    "--pod-manifest-path=",
    "--manifest-url=",
    "--fail-swap-on=false",
    "--enable-server=false",
    `--container-runtime-endpoint=unix://${runtimeSocket}`,
  ];
  const options = { cwd: "/" };
  const own = await loadConfig([`--config=${paths.config}`, ...always], host.files, options);
  return own.problems.length === 0 ? own : await loadConfig(always, host.files, options);
}

/** Waits until no pod runs and every sandbox is stopped. */
async function untilStopped(
  agent: RunningAgent,
  outside: ConnectedOutside,
  { print, timeoutMs, interrupt }: DrainRequest,
): Promise<StoppedPods> {
  const { pods } = agent.pipeline;
  const stated = new Set<string>();
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const all = pods.list();
    const running = all.filter(({ life }) => life.kind !== "terminated");
    for (const { pod, life } of all) {
      const name = podDisplayName(pod);
      if (life.kind !== "terminated" || stated.has(name)) continue;
      stated.add(name);
      print(`${name}: stopped`);
    }
    const isOver = interrupt.aborted || performance.now() > deadline;
    const ready = running.length === 0 || isOver ? await readySandboxes(outside) : [];
    if (running.length === 0 && ready.length === 0) return { stopped: all.length, left: [] };
    if (isOver)
      return {
        stopped: stated.size,
        left: [
          ...running.map(({ pod }) => `pod ${podDisplayName(pod)}`),
          ...ready.map(({ id }) => `sandbox ${id}`),
        ],
      };
    await sleep(POLL_MS, undefined, { signal: interrupt }).catch(() => {});
  }
}

async function readySandboxes({ cri }: ConnectedOutside): Promise<readonly PodSandbox[]> {
  const sandboxes = await cri.runtime.listSandboxes({}, TO_THE_END);
  return sandboxes.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
}

/** How long sandboxes that belong to no pod are waited for. */
const STRAY_MS = 5_000;

/** Waits until no pod is left, saying what happens to each; resolves with what is left when time is up. */
async function untilEmpty(
  agent: RunningAgent,
  outside: ConnectedOutside,
  request: DrainRequest,
): Promise<readonly string[]> {
  const { print, timeoutMs, interrupt } = request;
  const { pods } = agent.pipeline;
  const reported = new Set<string>();
  const report = ({ pod, life }: ReturnType<typeof pods.list>[number]) => {
    const name = podDisplayName(pod);
    if (life.kind === "terminating" && !reported.has(name)) {
      reported.add(name);
      print(`${name}: stopping (grace period ${counted(life.graceSeconds, "second")})`);
    }
    if (life.kind === "released") print(`${name}: gone`);
  };
  const stop = pods.subscribe(report);
  for (const record of pods.list()) report(record);
  const deadline = performance.now() + timeoutMs;
  let emptySince = Number.POSITIVE_INFINITY;
  try {
    while (!interrupt.aborted && performance.now() < deadline) {
      if (pods.list().length === 0) {
        const strays = await outside.cri.runtime.listSandboxes({}, TO_THE_END);
        emptySince = Math.min(emptySince, performance.now());
        if (strays.length === 0) return [];
        if (performance.now() - emptySince > STRAY_MS)
          return strays.map(({ id }) => `sandbox ${id}`);
      } else emptySince = Number.POSITIVE_INFINITY;
      await sleep(POLL_MS, undefined, { signal: interrupt }).catch(() => {});
    }
    const left = pods.list().map(({ pod }) => `pod ${podDisplayName(pod)}`);
    if (left.length > 0) return left;
    const strays = await outside.cri.runtime.listSandboxes({}, TO_THE_END);
    return strays.map(({ id }) => `sandbox ${id}`);
  } finally {
    stop();
  }
}
