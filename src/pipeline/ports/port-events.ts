/** Events about pods on the way to the runtime. */
import { featuresForUpdate, missingFeatures } from "../../api/node/node-features.ts";
import { podDescription } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";

/** Dependencies: the runtime and the events. */
export interface EventDeps {
  readonly events: Events;
  readonly runtime: Runtime;
}

/** Events for a missing cluster resolver: to node and pod each time, or to the node once. */
export type MissingDnsNotice = "everyPod" | "nodeOnce";

/**
 * Records problems of a pod's DNS with the texts of the Go kubelet (GetPodDNS). Resolves with whether the cluster's
 * resolver is missing.
 */
export async function recordDnsProblems(
  { runtime, events }: EventDeps,
  pod: IdentifiedPod,
  notice: MissingDnsNotice | "reported",
): Promise<boolean> {
  const { faults, missing } = await runtime.dnsProblems(pod);
  for (const message of faults)
    events.ofPod(pod, { type: "Warning", reason: "DNSConfigForming", message });
  if (missing === undefined) return false;
  if (notice === "reported") return true;
  events.ofNode({ type: "Warning", reason: "MissingClusterDNS", message: missing });
  if (notice === "nodeOnce") return true;
  const message = `pod: "${podDescription(pod)}". ${missing}`;
  events.ofPod(pod, { type: "Warning", reason: "MissingClusterDNS", message });
  return true;
}

/** Records an event for an update that needs features the node does not declare (kubelet.go HandlePodUpdates). */
export function recordMissingFeatures(
  events: Events,
  update: { readonly before: IdentifiedPod | undefined; readonly now: IdentifiedPod },
  declared: readonly string[] | undefined,
): void {
  const { before, now } = update;
  if (!before || !declared || before === now) return;
  const missing = missingFeatures(featuresForUpdate(before, now), declared);
  if (missing === undefined) return;
  const message = `Pod requires node features that are not available: ${missing}`;
  events.ofPod(now, { type: "Warning", reason: "FailedNodeDeclaredFeaturesCheck", message });
}

/** A container or sandbox that should go and does not is the node's failure (StartGarbageCollection). */
export async function collecting(
  { events }: EventDeps,
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
