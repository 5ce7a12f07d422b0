// pure

import { decided } from "../../api/decisions.ts";
import type { ObservedContainer } from "../../api/observation.ts";
import { NO_PLAN, type PodAction, type PodPlan, removalOf } from "./actions.ts";
import { livingContainers } from "./observed.ts";
import type { PlanContext } from "./plan-draft.ts";
import type { PodLife, PodRecord } from "./record.ts";
import { initContainers } from "./restart.ts";

type Terminating = Extract<PodLife, { kind: "terminating" }>;

/**
 * Ends what lives: everything but sidecars at once, then sidecars last to first; past the deadline all
 * that is left at once (kuberuntime killContainersWithSyncResult, termination ordering).
 */
export function planTermination(
  record: PodRecord,
  life: Terminating,
  context: PlanContext,
): PodPlan {
  const living = livingContainers(record.observed);
  if (living.length === 0) return NO_PLAN;
  const leftMs = Math.max(0, life.killBy - context.now);
  const graceSeconds = Math.ceil(leftMs / 1000);
  const batch = leftMs > 0 ? nextBatch(record, living) : living;
  return {
    ...NO_PLAN,
    actions: [
      {
        kind: "stopContainers",
        orders: batch.map(({ id, name }) => ({
          id,
          name,
          graceSeconds,
          message: `Stopping container ${name}`,
          preStop: leftMs > 0,
        })),
        because: batch.map(({ name }) =>
          decided("killContainer", `pod ${life.cause.kind}`, {
            container: name,
            graceSeconds,
            detail: `Stopping container ${name}`,
          }),
        ),
      },
    ],
  };
}

function nextBatch(
  record: PodRecord,
  living: readonly ObservedContainer[],
): readonly ObservedContainer[] {
  const sidecars = initContainers(record.pod).filter(({ kind }) => kind === "sidecar");
  const orderOf = (name: string) => sidecars.findIndex(({ container }) => container.name === name);
  const others = living.filter(({ name }) => orderOf(name) < 0);
  if (others.length > 0) return others;
  const last = Math.max(...living.map(({ name }) => orderOf(name)));
  return living.filter(({ name }) => orderOf(name) === last);
}

/**
 * After the last container has ended: sandbox, volumes and cgroup go; when the source dropped the pod,
 * everything goes.
 */
export function planTeardown(record: PodRecord): PodPlan {
  const { observed, footings, removal } = record;
  const actions: PodAction[] = [];
  for (const { id, stopped } of observed.sandboxes)
    if (!stopped) actions.push({ kind: "stopSandbox", id });
  if (footings.volumes !== "absent") actions.push({ kind: "unmountVolumes" });
  if (removal) {
    actions.push(...observed.containers.map(removalOf));
    for (const { id } of observed.sandboxes) actions.push({ kind: "removeSandbox", id });
  }
  if (footings.cgroup !== "absent") actions.push({ kind: "removeCgroup" });
  if (removal && footings.directories !== "absent") actions.push({ kind: "removeDirectories" });
  return { ...NO_PLAN, actions };
}
