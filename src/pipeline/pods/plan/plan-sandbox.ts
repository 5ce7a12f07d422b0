// pure

import { makeDecision } from "../../../api/decisions.ts";
import { graceSecondsOf, isHostNetworkPod } from "../../../api/pod/pod.ts";
import { claimLabels, usesClaims } from "../../../api/pod-claims.ts";
import { livingContainers, newestSandbox } from "../record/observed.ts";
import type { PodRecord } from "../record/record.ts";
import { cannotGoOn, sandboxFault } from "../record/sandbox.ts";
import type { PodStandings } from "../record/standing.ts";
import type { PlanContext, PlanDraft, SandboxPlan } from "./plan-draft.ts";
import { inTurn } from "./stop-order.ts";

/**
 * Makes sure of directories, cgroup, volumes and one good sandbox. Another sandbox ends everything in
 * the old one first (kuberuntime util PodSandboxChanged, computePodActions).
 */
export function planSandbox(
  record: PodRecord,
  standings: PodStandings,
  context: PlanContext,
  draft: PlanDraft,
): SandboxPlan {
  const current = newestSandbox(record.observed);
  const fault = sandboxFault(record);
  if (fault === undefined && current) {
    if (current.hostNetwork === isHostNetworkPod(record.pod)) {
      prepare(record, draft);
      return { kind: "use", sandbox: current };
    }
  }
  if (cannotGoOn(record, standings)) return { kind: "none" };
  if (!context.network.ready && !isHostNetworkPod(record.pod)) {
    const message = `network is not ready: ${context.network.message}`;
    draft.events.push({ type: "Warning", reason: "NetworkNotReady", message });
    draft.standing.push(makeDecision("delaySandbox", "network is not ready", { message }));
    return { kind: "none" };
  }
  endOldSandboxes(record, fault ?? "network mode changed", draft);
  prepare(record, draft);
  prepareClaims(record, draft);
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

/** Before every sandbox: what was prepared may have gone with the machine's start, and is not prepared twice else. */
function prepareClaims({ pod }: PodRecord, draft: PlanDraft): void {
  if (!usesClaims(pod)) return;
  const claims = claimLabels(pod);
  const decision = makeDecision("prepareClaims", "a sandbox is to be made", { claims });
  draft.actions.push({ kind: "prepareClaims", decision });
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
