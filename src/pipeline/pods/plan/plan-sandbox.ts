// pure

import { makeDecision } from "../../../api/decisions.ts";
import type { ObservedSandbox } from "../../../api/observation.ts";
import { graceSecondsOf } from "../../../api/pod/pod.ts";
import { lastEnd } from "../record/lost-containers.ts";
import { livingContainers, newestSandbox } from "../record/observed.ts";
import { hasRegularAttempt } from "../record/phase.ts";
import type { PodRecord } from "../record/record.ts";
import { decideRestart, regularContainers } from "../record/restart.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";
import { inTurn } from "./stop-order.ts";

/** The sandbox the containers of this plan run in. */
export type SandboxPlan =
  | { readonly kind: "use"; readonly sandbox: ObservedSandbox }
  | { readonly kind: "create" }
  /** No container can be started now, or none should be. */
  | { readonly kind: "none" };

/**
 * Makes sure of directories, cgroup, volumes and one good sandbox. Another sandbox ends everything in
 * the old one first (kuberuntime util PodSandboxChanged, computePodActions).
 */
export function planSandbox(
  record: PodRecord,
  context: PlanContext,
  draft: PlanDraft,
): SandboxPlan {
  const current = newestSandbox(record.observed);
  const fault = sandboxFault(record);
  if (fault === undefined && current) {
    if (current.hostNetwork === isHostNetwork(record)) {
      prepare(record, draft);
      return { kind: "use", sandbox: current };
    }
  }
  if (cannotGoOn(record)) return { kind: "none" };
  if (!context.network.ready && !isHostNetwork(record)) {
    const message = `network is not ready: ${context.network.message}`;
    draft.events.push({ type: "Warning", reason: "NetworkNotReady", message });
    draft.standing.push(makeDecision("delaySandbox", "network is not ready", { message }));
    return { kind: "none" };
  }
  endOldSandboxes(record, fault ?? "network mode changed", draft);
  prepare(record, draft);
  draft.actions.push({
    kind: "createSandbox",
    attempt: current ? current.attempt + 1 : 0,
    decision: makeDecision("startSandbox", fault ?? "network mode changed", {
      attempt: current ? current.attempt + 1 : 0,
      previous: current?.id ?? "",
    }),
  });
  return { kind: "create" };
}

/** Problems with the pod's sandboxes; `undefined` when the newest can be used. */
function sandboxFault(record: PodRecord): string | undefined {
  const { sandboxes } = record.observed;
  const newest = sandboxes[0];
  if (!newest) return "no sandbox";
  if (record.prerequisites.cgroup === "absent" && livingContainers(record.observed).length > 0)
    return "pod cgroup was missing";
  if (sandboxes.filter(({ ready }) => ready).length > 1) return "several ready sandboxes";
  if (!newest.ready) return "sandbox not ready";
  if (newest.hostNetwork !== isHostNetwork(record)) return "network mode changed";
  if (!newest.hostNetwork && newest.ips.length === 0) return "sandbox has no address";
  return undefined;
}

function isHostNetwork(record: PodRecord): boolean {
  return record.pod.spec?.hostNetwork === true;
}

/**
 * Whether the sandbox is gone for good: it is not replaced when nothing would run in the new one, or when
 * something already ran and the pod must never start anything twice.
 */
export function cannotGoOn(record: PodRecord): boolean {
  if (record.observed.sandboxes.length === 0 || sandboxFault(record) === undefined) return false;
  const anyStarted = record.observed.containers.some(({ state }) => state !== "created");
  if (record.pod.spec?.restartPolicy === "Never" && anyStarted) return true;
  const toStart = regularContainers(record.pod).filter((spec) => {
    const end = lastEnd(record, spec.container.name);
    return !end || decideRestart(record.pod, spec, end).restart;
  });
  return toStart.length === 0 && hasRegularAttempt(record);
}

/** Directories, cgroup and volumes, each until it is known to be there. */
function prepare(record: PodRecord, draft: PlanDraft): void {
  const { directories, cgroup, volumes } = record.prerequisites;
  const prepares = (part: "directories" | "cgroup") =>
    makeDecision("preparePod", "not known to be there", { part });
  if (directories !== "present")
    draft.actions.push({ kind: "makeDirectories", decision: prepares("directories") });
  if (cgroup !== "present")
    draft.actions.push({ kind: "createCgroup", decision: prepares("cgroup") });
  if (volumes !== "present") {
    const names = (record.pod.spec?.volumes ?? []).map(({ name }) => name);
    const decision = makeDecision("mountVolumes", "not known to be there", { volumes: names });
    draft.actions.push({ kind: "mountVolumes", decision });
  }
}

function endOldSandboxes(record: PodRecord, rule: string, draft: PlanDraft): void {
  const living = livingContainers(record.observed);
  if (living.length > 0) {
    const graceSeconds = graceSecondsOf(record.pod);
    draft.actions.push({
      kind: "stopContainers",
      stops: inTurn(
        record.pod,
        living.map(({ id, name }) => ({
          id,
          name,
          graceSeconds,
          preStop: true,
          again: true,
          message: `Stopping container ${name}`,
        })),
      ),
      decision: living.map(({ name }) =>
        makeDecision("killContainer", rule, { container: name, graceSeconds, detail: rule }),
      ),
    });
  }
  for (const { id, stopped } of record.observed.sandboxes)
    if (!stopped) draft.actions.push({ kind: "stopSandbox", id });
}
