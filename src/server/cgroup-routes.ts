import type { Pod } from "../api/generated/types.ts";
import { activePods } from "../pipeline/pipeline.ts";
import { replyJson, type ServedRoute } from "./call.ts";
import type { ServedNode } from "./served-node.ts";

/** The live control groups beside the desired ones, and their repair; on the agent's own socket only. */
export function cgroupRoutes(node: ServedNode): readonly ServedRoute[] {
  const { cgroups } = node.subsystems;
  const local = { faces: ["local"], access: { subresources: ["proxy"] } } as const;
  return [
    {
      ...local,
      pattern: "/nodelet/v1/cgroups",
      methods: ["GET"],
      handler: async (call) => replyJson(call, await cgroups.report(podsWithStatus(node))),
    },
    {
      ...local,
      pattern: "/nodelet/v1/cgroups/repair",
      methods: ["POST"],
      handler: async (call) => {
        const written = await cgroups.repair(podsWithStatus(node));
        await replyJson(call, { written });
      },
    },
  ];
}

/** Pods that hold groups; their statuses tell which containers run. */
function podsWithStatus({ pipeline }: ServedNode): readonly Pod[] {
  const statuses = new Map(pipeline.pods.list().map(({ uid, pod }) => [pod, uid] as const));
  return activePods(pipeline.pods).map((pod) => {
    const uid = statuses.get(pod);
    const status = uid && pipeline.statuses.get(uid)?.status;
    return status ? { ...pod, status } : pod;
  });
}
