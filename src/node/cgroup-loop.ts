/**
 * Keeps the groups of the node and of the classes of service as the active pods request them. In: pods, and
 * whether every source was seen. Out: cgroup values, events about the node. Invariant: nothing is done
 * before every source was seen, so that pods which outlived the agent keep their share meanwhile.
 */
import { activePods, isActive } from "../api/pod-facts.ts";
import type { IdentifiedPod } from "../api/pod-identity.ts";
import type { NodeEvents } from "../api/ports/events.ts";
import { Cell } from "../kit/cell.ts";
import { type ControlLoop, runControlLoop } from "../kit/loops/control-loop.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { Outside } from "../outside/outside.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { type Cgroups, enforcementEvent, tryUpdateQos } from "../subsystems/cgroups/cgroups.ts";

interface CgroupLoopDeps {
  readonly outside: Pick<Outside, "clock" | "log">;
  readonly scope: TaskScope;
  readonly pipeline: Pick<Pipeline, "podFacts" | "seen">;
  readonly cgroups: Pick<Cgroups, "enforceNode" | "enforcement" | "updateQos">;
  readonly events: NodeEvents;
}

/** Between two passes when no pod comes or goes (kubelet cm periodicQOSCgroupUpdateInterval). */
const PERIOD_MS = 60_000;

/** Starts the loop; it ends with the scope. */
export function startCgroupLoop(deps: CgroupLoopDeps): void {
  const { outside, scope, pipeline } = deps;
  const changes = new Cell(0);
  const active = new Map<string, IdentifiedPod>();
  const stop = pipeline.podFacts.subscribe((uid, fact) => {
    const pod = fact && isActive(fact) ? fact.pod : undefined;
    if (active.get(uid) === pod) return;
    if (pod) active.set(uid, pod);
    else active.delete(uid);
    changes.set(changes.get() + 1);
  });
  scope.defer("active pods", stop);
  const loop: ControlLoop<readonly IdentifiedPod[]> = {
    name: "cgroups of the classes",
    wakeOn: [changes, pipeline.seen],
    everyMs: PERIOD_MS,
    plan: () => (pipeline.seen.get() ? activePods(pipeline.podFacts) : undefined),
    act: async (pods) => {
      await retryNode(deps);
      await tryUpdateQos(deps.cgroups, pods, outside.log);
    },
  };
  scope.spawn(loop.name, "restart", (signal) =>
    runControlLoop(loop, outside.clock.coalesced, signal),
  );
}

/** Retries what failed at the start, and records the outcome. */
async function retryNode({ cgroups, events }: CgroupLoopDeps): Promise<void> {
  if (cgroups.enforcement.kind === "failed") {
    events.ofNode(enforcementEvent(await cgroups.enforceNode()));
  }
}
