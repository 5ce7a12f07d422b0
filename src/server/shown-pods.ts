import type { PodUid } from "../api/observation.ts";
import type { ShownPod } from "../api/pod/shown-pod.ts";
import { rfc3339 } from "../api/text/timestamps.ts";
import type { Clock, WallMs } from "../kit/clock.ts";
import { blockedBy } from "../pipeline/status/blocked.ts";
import type { PodView, ServedNode } from "./served-node.ts";

/** Parts of the node that showing a pod needs. */
export interface PodShower {
  readonly pipeline: Pick<ServedNode["pipeline"], "statuses" | "pods">;
  readonly subsystems: {
    readonly runtime: {
      readonly watch: Pick<ServedNode["subsystems"]["runtime"]["watch"], "health">;
    };
  };
}

/**
 * A pod with its status as the agent knows it, with what it waits for, and with the time it has left when it is being
 * ended.
 */
export function shownPod(
  record: PodView,
  { pipeline, subsystems }: PodShower,
  clock: Clock,
): ShownPod {
  const { pod, life, uid } = record;
  const status = pipeline.statuses.get(uid as PodUid)?.status ?? pod.status;
  const blocked = blockedBy(record, subsystems.runtime.watch.health.get());
  const shown: ShownPod = {
    apiVersion: "v1",
    kind: "Pod",
    ...pod,
    ...(status === undefined ? {} : { status }),
    ...(blocked === undefined ? {} : { blocked }),
  };
  const isLeaving =
    life.kind === "terminating" &&
    (life.cause.kind === "deleted" || life.cause.kind === "orphaned");
  if (!isLeaving || pod.metadata?.deletionTimestamp !== undefined) return shown;
  // The same meaning as in the API: when the grace ends.
  const endsAt = (clock.wall() + life.killBy - clock.monotonic()) as WallMs;
  const metadata = {
    ...pod.metadata,
    deletionTimestamp: rfc3339(endsAt),
    deletionGracePeriodSeconds: life.graceSeconds,
  };
  return { ...shown, metadata };
}

/** All pods, also those that are only found running and on their way out. */
export function shownPods(node: PodShower, clock: Clock): readonly ShownPod[] {
  return node.pipeline.pods.list().map((record) => shownPod(record, node, clock));
}
