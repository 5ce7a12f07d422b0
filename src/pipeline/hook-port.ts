/** What the pods room needs for hooks of containers. */
import type { Pod } from "../api/generated/types.ts";
import type { PodUid } from "../api/observation.ts";
import { podDisplayName } from "../api/pod.ts";
import type { Outside } from "../outside/outside.ts";
import type { Events } from "../subsystems/events/events.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";
import { newestSandbox } from "./pods/observed.ts";
import type { Pods } from "./pods/pods.ts";
import type { PodPorts } from "./pods/ports.ts";
import { specContainers } from "./pods/restart.ts";

/** What the port is made from. */
export interface HookPortDeps {
  readonly outside: Outside;
  readonly events: Pick<Events, "ofPod">;
  readonly runtime: Runtime;
}

/** The hooks of containers, run through the runtime. */
export function hookPort(deps: HookPortDeps, pods: () => Pods): PodPorts["hooks"] {
  const { clock, log, net, cri } = deps.outside;
  const podIp = (pod: Pod) => {
    const record = pods().get((pod.metadata?.uid ?? "") as PodUid);
    return record && newestSandbox(record.observed)?.ips[0];
  };
  const onHttpFallback = (pod: Pod, host: string) =>
    deps.events.ofPod(pod, {
      type: "Warning",
      reason: "LifecycleHTTPFallback",
      message: `request to HTTPS lifecycle hook ${host} got HTTP response, retry with HTTP succeeded`,
    });
  const hooks = deps.runtime.hooks({
    ...{ runtime: cri.runtime, net, clock, log, podIp, onHttpFallback },
  });
  const lifecycleOf = (pod: Pod, name: string) =>
    specContainers(pod).find(({ container }) => container.name === name)?.container.lifecycle;
  return {
    postStart: async (pod, container, containerId, signal) => {
      const hook = lifecycleOf(pod, container)?.postStart;
      if (hook) await hooks.run({ pod, container, containerId }, hook, signal);
    },
    preStop: async (pod, { name, id, graceSeconds }, signal) => {
      const hook = lifecycleOf(pod, name)?.preStop;
      if (!hook) return 0;
      const at = { pod, container: name, containerId: id, graceSeconds };
      return hooks.runPreStop(at, hook, signal, (message) => {
        log.warn("pre-stop hook failed", {
          pod: podDisplayName(pod),
          container: name,
          problem: message,
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
