/** The node as a whole: starts its loops. */
import type { OomCounts } from "../api/figures/oom-counts.ts";
import type { Node } from "../api/generated/types.ts";
import type { PodUid } from "../api/observation.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { Cell, type Reading } from "../kit/cell.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { Outside } from "../outside/outside.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Cgroups } from "../subsystems/cgroups/cgroups.ts";
import type { Events } from "../subsystems/events/events.ts";
import type { Images } from "../subsystems/images/images.ts";
import type { Logs } from "../subsystems/logs/logs.ts";
import type { Neighbors } from "../subsystems/neighbors/neighbors.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";
import type { Volumes } from "../subsystems/volumes/volumes.ts";
import { startCgroupLoop } from "./cgroup-loop.ts";
import { startHousekeeping } from "./housekeeping/housekeeping.ts";
import { startImageLoops } from "./image-loop.ts";
import { startIptables } from "./iptables/iptables.ts";
import { startSystemGroups } from "./kernel/system-groups.ts";
import { startLogRotation } from "./log-rotation.ts";
import { startOomWatch } from "./oom/oom.ts";
import { startPodCidr } from "./pod-cidr.ts";

/** Folders of the agent. */
export interface NodeOptions {
  readonly roots: { readonly root: string; readonly logs: string };
  readonly config: KubeletConfig;
}

interface NodeDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly pipeline: Pipeline;
  readonly cgroups: Cgroups;
  readonly events: Events;
  readonly images: Images;
  readonly logs: Logs;
  readonly neighbors: Neighbors;
  readonly volumes: Volumes;
  readonly metrics: MetricsRegistry;
  readonly runtime: Pick<Runtime, "service" | "watch">;
  readonly oomCounts: OomCounts;
  /** The node's own object; undefined as long as the API has none. */
  readonly node: Reading<Node | undefined>;
}

/** Starts every loop that concerns the node as a whole. */
export function startNode(options: NodeOptions, deps: NodeDeps): void {
  const { outside, scope, pipeline, cgroups, events, images, logs, volumes, metrics } = deps;
  const { clock, host } = outside;
  const released = new Cell(0);
  const stop = pipeline.pods.subscribe(({ life }) => {
    if (life.kind === "released") released.set(released.get() + 1);
  });
  scope.defer("released pods", stop);
  startCgroupLoop({ outside, scope, pipeline, cgroups, events });
  startSystemGroups(options.config, { host, clock, log: outside.log.child("cgroups"), scope });
  const { oomCounts } = deps;
  startOomWatch({ outside, scope, pipeline, cgroups, events, metrics, oomCounts });
  startImageLoops({ outside, scope, images, seen: pipeline.seen });
  startIptables(options.config, { host, clock, log: outside.log.child("iptables"), scope });
  startPodCidr(options.config, {
    clock,
    log: outside.log.child("node"),
    scope,
    node: deps.node,
    runtime: deps.runtime,
  });
  startLogRotation(options.config, { outside, scope, pipeline, logs, metrics });
  startHousekeeping(options, {
    outside,
    scope,
    cgroups,
    neighbors: deps.neighbors,
    volumes,
    seen: pipeline.seen,
    released,
    metrics,
    isKnown: (uid) => pipeline.pods.knows(uid as PodUid),
  });
}
