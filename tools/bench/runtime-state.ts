import { setTimeout as sleep } from "node:timers/promises";
import type { RuntimeService } from "../../src/outside/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/outside/cri/generated/api.ts";
import { monotonicMs } from "./pod-observer.ts";
import { POD_LABEL } from "./pods.ts";

const POLL_MS = 50;

/**
 * Waits until nothing of the pods runs: no sandbox that is ready, no container. Asks the runtime, because
 * a kubelet forgets a static pod before it has ended. Gives the moment for each; rejects with who is left.
 */
export async function untilStopped(
  runtime: RuntimeService,
  names: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const deadline = monotonicMs() + timeoutMs;
  const stopped = new Map<string, number>();
  for (;;) {
    const alive = await runningPods(runtime, signal);
    const at = monotonicMs();
    for (const name of names) if (!alive.has(name) && !stopped.has(name)) stopped.set(name, at);
    const times = names.flatMap((name) => stopped.get(name) ?? []);
    if (times.length === names.length) return times;
    if (at > deadline)
      throw new Error(`still running: ${names.filter((name) => alive.has(name)).join(", ")}`);
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Names of the bench's pods of which something runs. */
export async function runningPods(
  runtime: RuntimeService,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const sandboxes = await runtime.listSandboxes({}, signal);
  const state = { state: ContainerState.CONTAINER_RUNNING };
  const containers = await runtime.listContainers({ state }, signal);
  const busy = new Set(containers.map(({ podSandboxId }) => podSandboxId));
  return new Set(
    sandboxes
      .filter(({ id, state }) => state === PodSandboxState.SANDBOX_READY || busy.has(id))
      .flatMap(({ labels }) => labels[POD_LABEL] ?? []),
  );
}
