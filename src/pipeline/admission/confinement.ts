/** What the node can confine pods by. */
import type { Outside } from "../../outside/outside.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { AdmissionVerdict } from "../pods/admit.ts";
import type { NodeSecurity } from "./rules.ts";

/** Who knows. */
export interface ConfinementDeps {
  readonly outside: Outside;
  readonly runtime: Runtime;
}

/** What a runtime can do is not known before it has answered; nothing could be started before anyhow. */
export const UNASKED_RUNTIME: AdmissionVerdict = {
  kind: "defer",
  rule: "confinement",
  reason: "ContainerCreating",
  message: "the runtime has not reported yet whether it supports supplementalGroupsPolicy",
  retryInMs: 1_000,
};

const APPARMOR_SWITCH = "/sys/module/apparmor/parameters/enabled";

/** What kernel and runtime can enforce now. */
export function securityOf({ outside: { host }, runtime }: ConfinementDeps): NodeSecurity {
  return {
    appArmor: host.readKernel(APPARMOR_SWITCH)?.startsWith("Y") === true,
    strictGroups: runtime.watch.health.get().features?.supplementalGroupsPolicy === true,
  };
}
