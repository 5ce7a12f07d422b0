// pure

import { makeDecision } from "../../../api/decisions.ts";
import { claimLabels } from "../../../api/pod-claims.ts";
import { livingContainers } from "../record/observed.ts";
import { isAbsent } from "../record/prerequisites.ts";
import type { PodLife, PodRecord, TerminationCause } from "../record/record.ts";
import { NO_PLAN, type PodPlan, removalOf } from "./actions.ts";
import { planCleanup } from "./plan-cleanup.ts";
import { type PlanContext, PlanDraft } from "./plan-draft.ts";
import { inTurn } from "./stop-order.ts";

type Terminating = Extract<PodLife, { kind: "terminating" }>;

/**
 * Ends what lives, each in its turn: regular containers at once, then sidecars last to first; past the
 * deadline all that is left at once (kuberuntime killContainersWithSyncResult). What passed before the containers
 * could be asked to stop is not taken from their grace.
 */
export function planTermination(
  record: PodRecord,
  life: Terminating,
  context: PlanContext,
): PodPlan {
  const living = livingContainers(record.observed);
  if (living.length === 0) return planUnprepare(record);
  const leftMs = life.asked ? Math.max(0, life.killBy - context.now) : life.graceSeconds * 1000;
  const graceSeconds = Math.ceil(leftMs / 1000);
  const stops = living.map(({ id, name }) => ({
    id,
    name,
    graceSeconds,
    preStop: leftMs > 0,
    message: `Stopping container ${name}`,
  }));
  return {
    ...NO_PLAN,
    actions: [
      {
        kind: "stopContainers",
        stops: leftMs > 0 ? inTurn(record.pod, stops) : stops,
        decision: stops.map(({ name, message }) =>
          makeDecision("killContainer", `pod ${wordOf(life.cause)}`, {
            container: name,
            graceSeconds,
            detail: message,
          }),
        ),
      },
    ],
  };
}

/** Sandboxes first: their network may be a device that a claim stands for. */
function planUnprepare(record: PodRecord): PodPlan {
  if (isAbsent(record, "claims")) return NO_PLAN;
  const { pod, observed } = record;
  const draft = new PlanDraft();
  for (const { id, stopped } of observed.sandboxes)
    if (!stopped) draft.actions.push({ kind: "stopSandbox", id });
  const claims = claimLabels(pod);
  const decision = makeDecision("unprepareClaims", "the pod has ended", { claims });
  draft.actions.push({ kind: "unprepareClaims", decision });
  return draft.finish();
}

/** Cause of the termination in one word; for evictions the reason in the status, e.g. `DeadlineExceeded`. */
function wordOf(cause: TerminationCause): string {
  return cause.kind === "evicted" ? cause.reason : cause.kind;
}

/**
 * After the last container has ended: sandbox, volumes and cgroup go; when the source dropped the pod,
 * everything goes. Of one that was evicted, or is to be cleared, the runtime keeps nothing: the space it takes is
 * what it went for. Its folders stay. Of any other it keeps what it keeps of a pod that runs.
 */
export function planTeardown(record: PodRecord, context: PlanContext): PodPlan {
  const { observed, prerequisites, life } = record;
  const { removed } = record.desired;
  const isCleared = life.kind === "terminated" && life.cleared === true;
  const clears = removed || isCleared || wasEvicted(record);
  const draft = new PlanDraft();
  const { actions } = draft;
  for (const { id, stopped } of observed.sandboxes)
    if (!stopped) actions.push({ kind: "stopSandbox", id });
  if (prerequisites.volumes !== "absent") actions.push({ kind: "unmountVolumes" });
  // The API waits for the cgroup, and not for dead containers, which the runtime may be unable to remove.
  if (prerequisites.cgroup !== "absent") actions.push({ kind: "removeCgroup" });
  const removesFolders = removed && prerequisites.directories !== "absent";
  if (clears) {
    const files = removesFolders ? "with pod" : "own";
    for (const container of observed.containers) actions.push({ ...removalOf(container), files });
    for (const { id } of observed.sandboxes) actions.push({ kind: "removeSandbox", id });
  } else planCleanup(record, { context, draft });
  if (removesFolders) actions.push({ kind: "removeDirectories" });
  return draft.finish();
}

function wasEvicted({ life }: PodRecord): boolean {
  const cause = "cause" in life ? life.cause : undefined;
  return cause?.kind === "evicted" && cause.reason === "Evicted";
}
