/** Port of the pods module for container lifecycle hooks. */
import { METRICS } from "../../api/metrics/metrics.ts";
import { findContainer, isHostNetworkPod, podDisplayName } from "../../api/pod/pod.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Outside } from "../../outside/outside.ts";
import type { Events } from "../../subsystems/events/events.ts";
import { createHooks, type HookPlace, type Runtime } from "../../subsystems/runtime/runtime.ts";
import type { PodPorts } from "../pods/ports.ts";

export interface HookPortDeps {
  readonly outside: Outside;
  readonly events: Events;
  readonly runtime: Runtime;
  /** Addresses of the node, which pods on its network have. */
  readonly hostIps: () => readonly string[];
  readonly podFacts: PodFacts;
  readonly metrics: MetricsRegistry;
}

/** The hooks of containers, run through the runtime. */
export function hookPort(deps: HookPortDeps): PodPorts["hooks"] {
  const { clock, log, net, cri } = deps.outside;
  // A sandbox that was just created may not be observed yet, and the one before had another address.
  const podIp = async ({ pod, sandboxId }: HookPlace, signal: AbortSignal) => {
    if (isHostNetworkPod(pod)) return deps.hostIps()[0];
    const sandboxes = deps.podFacts.get(pod.metadata.uid)?.observed.sandboxes ?? [];
    const seen = sandboxId
      ? sandboxes.find(({ id }) => id === sandboxId)
      : sandboxes.find(({ ips }) => ips.length > 0);
    if (seen && seen.ips.length > 0) return seen.ips[0];
    return sandboxId ? (await deps.runtime.addresses(sandboxId, signal))[0] : undefined;
  };
  const fallbacks = deps.metrics.counter(METRICS.kubelet_lifecycle_handler_http_fallbacks_total);
  const cutSleeps = deps.metrics.counter(METRICS.kubelet_sleep_action_terminated_early_total);
  const onHttpFallback = (pod: IdentifiedPod, host: string) => {
    fallbacks.add();
    deps.events.ofPod(pod, {
      type: "Warning",
      reason: "LifecycleHTTPFallback",
      message: `request to HTTPS lifecycle hook ${host} got HTTP response, retry with HTTP succeeded`,
    });
  };
  const hooks = createHooks({
    runtime: cri.runtime,
    net,
    clock,
    log,
    podIp,
    onHttpFallback,
    onSleepCut: () => cutSleeps.add(),
  });
  const lifecycleOf = (pod: IdentifiedPod, name: string) =>
    findContainer(pod, name)?.container.lifecycle;
  return {
    postStart: async (pod, { name, id, sandboxId }, signal) => {
      const hook = lifecycleOf(pod, name)?.postStart;
      if (hook) await hooks.run({ pod, container: name, containerId: id, sandboxId }, hook, signal);
    },
    preStop: async (pod, { name, id, graceSeconds }, signal) => {
      const hook = lifecycleOf(pod, name)?.preStop;
      if (!hook) return 0;
      const at = { pod, container: name, containerId: id, graceSeconds };
      return hooks.runPreStop(at, hook, signal, (message) => {
        log.warn("pre-stop hook failed", {
          pod: podDisplayName(pod),
          container: name,
          error: message,
        });
        deps.events.ofPod(
          pod,
          { type: "Warning", reason: "FailedPreStopHook", message: "PreStopHook failed" },
          name,
        );
      });
    },
  };
}
