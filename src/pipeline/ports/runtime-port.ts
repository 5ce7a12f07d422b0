/** Port of the pods module to the runtime; other subsystems are notified as sandboxes and containers start and stop. */
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import type { PodPorts } from "../pods/ports.ts";
import { type ContainerDeps, createAttempt } from "./create-container.ts";
import {
  collecting,
  type EventDeps,
  type MissingDnsNotice,
  recordDnsProblems,
} from "./port-events.ts";

export interface RuntimePortDeps extends ContainerDeps, EventDeps {
  readonly cgroups: Cgroups;
}

/** Sandboxes and containers. */
export function runtimePort(
  deps: RuntimePortDeps,
  missingDns: MissingDnsNotice,
): PodPorts["runtime"] {
  const { runtime, logs } = deps;
  let notice: MissingDnsNotice | "reported" = missingDns;
  return {
    observe: (uid, signal) => runtime.observe(uid, signal),
    createSandbox: async (pod, attempt, signal) => {
      const isMissing = await recordDnsProblems(deps, pod, notice);
      if (isMissing && missingDns === "nodeOnce") notice = "reported";
      return await runtime.createSandbox(pod, attempt, signal);
    },
    createAttempt: (options, signal) => createAttempt(options, deps, signal),
    startContainer: async (id, signal) => {
      await runtime.startContainer(id, signal);
      await logs.links.started(id);
    },
    stopContainer: (id, graceSeconds, signal) => runtime.stopContainer(id, graceSeconds, signal),
    stopSandbox: (id, signal) => runtime.stopSandbox(id, signal),
    removeContainer: async (attempt, signal) => {
      await collecting(deps, signal, () => runtime.removeContainer(attempt.id, signal));
      await deps.cgroups.clearRemoved(attempt.pod, attempt.id);
      if (attempt.files === "with pod") return await logs.links.removed(attempt.id, attempt);
      await logs.removed(attempt);
      await deps.volumes.removed(attempt);
    },
    removeSandbox: async (pod, id, signal) => {
      await collecting(deps, signal, () => runtime.removeSandbox(id, signal));
      await deps.cgroups.clearRemoved(pod, id);
    },
  };
}
