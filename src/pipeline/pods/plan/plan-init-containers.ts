// pure
import type { ContainerStanding, PodStandings } from "../record/standing.ts";
import { planContainer } from "./plan-containers.ts";
import type { PlanParts, UsableSandbox } from "./plan-draft.ts";

/**
 * Init containers one after the other, sidecars kept running from their turn on. Says whether the
 * regular containers may run (kuberuntime computeInitContainerActions).
 */
export function planInitContainers(
  { init, regular }: PodStandings,
  parts: PlanParts,
): "pending" | "done" {
  const { sandbox } = parts;
  const begun = (standing: ContainerStanding) =>
    sandbox.kind === "use" && standing.here !== undefined;
  const progress = regular.some(begun) ? init.length : init.findLastIndex(begun);
  for (const standing of init) {
    if (standing.index >= progress && !(begun(standing) && isDone(standing))) {
      planContainer(begun(standing) ? standing : forThisSandbox(standing, sandbox), parts);
      return "pending";
    }
    if (standing.kind === "sidecar") planContainer(standing, parts);
  }
  return "done";
}

function isDone({ kind, started, ready }: ContainerStanding): boolean {
  return kind === "sidecar" ? started : ready;
}

/** In a new sandbox every init container runs again: what ended in an older one does not count. */
function forThisSandbox(standing: ContainerStanding, sandbox: UsableSandbox): ContainerStanding {
  const here = sandbox.kind === "use" ? sandbox.sandbox.id : undefined;
  const attempts = standing.attempts.filter(({ sandboxId }) => sandboxId === here);
  return { ...standing, attempts, latest: undefined, end: undefined, restart: undefined };
}
