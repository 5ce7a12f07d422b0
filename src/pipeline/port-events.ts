/** What users are told about pods on the way to the runtime. */
import type { Pod } from "../api/generated/types.ts";
import { podDescription } from "../api/pod.ts";
import { isOutside, messageOf } from "../kit/errors.ts";
import type { Events } from "../subsystems/events/events.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";

/** Who knows and who tells. */
export interface SayingDeps {
  readonly events: Events;
  readonly runtime: Runtime;
}

/** What a pod's resolver lacks, in the words of the reference (GetPodDNS). */
export function sayAboutDns({ runtime, events }: SayingDeps, pod: Pod): void {
  for (const message of runtime.dnsFaults(pod))
    events.ofPod(pod, { type: "Warning", reason: "DNSConfigForming", message });
  const missing = runtime.missingClusterDns(pod);
  if (missing === undefined) return;
  events.ofNode({ type: "Warning", reason: "MissingClusterDNS", message: missing });
  const message = `pod: "${podDescription(pod)}". ${missing}`;
  events.ofPod(pod, { type: "Warning", reason: "MissingClusterDNS", message });
}

/** A container or sandbox that should go and does not is the node's trouble (StartGarbageCollection). */
export async function collecting(
  { events }: SayingDeps,
  signal: AbortSignal,
  remove: () => Promise<void>,
): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!signal.aborted && !isOutside(error, "notFound") && !isOutside(error, "unavailable"))
      events.ofNode({ type: "Warning", reason: "ContainerGCFailed", message: messageOf(error) });
    throw error;
  }
}
