/** Security features that admission checks: AppArmor, `supplementalGroupsPolicy`. */
import type { Pod } from "../../api/generated/types.ts";
import type { Outside } from "../../outside/outside.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { AdmissionVerdict } from "../pods/admit.ts";
import { needsAppArmor } from "./node-security.ts";
import type { NodeSecurity } from "./rules.ts";

interface ConfinementDeps {
  readonly outside: Outside;
  readonly runtime: Runtime;
}

/** Verdict while the runtime has not answered: its abilities are unknown, and nothing could be started anyhow. */
export const UNASKED_RUNTIME: AdmissionVerdict = {
  kind: "defer",
  rule: "confinement",
  reason: "ContainerCreating",
  message: "the runtime has not reported yet whether it supports supplementalGroupsPolicy",
  retryInMs: 1_000,
};

const APPARMOR_SWITCH = "/sys/module/apparmor/parameters/enabled";

/** Security features that kernel and runtime enforce now, as far as the pod needs them: for others the kernel is not asked. */
export function securityOf(
  pod: Pod,
  { outside: { host }, runtime }: ConfinementDeps,
): NodeSecurity {
  return {
    appArmor: needsAppArmor(pod) && host.readKernel(APPARMOR_SWITCH)?.startsWith("Y") === true,
    strictGroups: runtime.watch.health.get().features?.supplementalGroupsPolicy === true,
  };
}
