import type { Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import type { PodView, ServedNode } from "../served-node.ts";

/** A pod with its status as the agent knows it, and with the time it has left when it is being ended. */
export function shownPod(record: PodView, { pipeline }: ServedNode, clock: Clock): Pod {
  const { pod, life, uid } = record;
  const status = pipeline.statuses.get(uid as PodUid)?.status ?? pod.status;
  const shown: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    ...pod,
    ...(status === undefined ? {} : { status }),
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
export function shownPods(node: ServedNode, clock: Clock): readonly Pod[] {
  return node.pipeline.pods.list().map((record) => shownPod(record, node, clock));
}
