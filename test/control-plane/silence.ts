/** What users notice of a control plane that is replaced: an API server that is away, and containers that start again. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterMachine } from "./machine.ts";

/** Asks the API server all the time; gives the longest time in seconds without an answer. */
export async function longestSilence(
  machine: ClusterMachine,
  until: AbortSignal,
  ...more: readonly string[]
): Promise<number> {
  let longest = 0;
  for (let last = performance.now(); !until.aborted; ) {
    const answers = await machine.kubectl("get", "--raw=/readyz", ...more).then(
      () => true,
      () => false,
    );
    const now = performance.now();
    longest = Math.max(longest, now - last);
    if (answers) last = now;
    await sleep(200);
  }
  return longest / 1000;
}

/** How often each pod with the label was restarted. */
export function restarts(machine: ClusterMachine, label: string): Promise<string> {
  const path =
    "{range .items[*]}{.metadata.name} {.status.containerStatuses[0].restartCount} {end}";
  return machine.kubectl("get", "pods", `-l${label}`, `-ojsonpath=${path}`);
}
