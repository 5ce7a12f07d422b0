import { isActive } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { groupUses } from "../../subsystems/stats/stats.ts";
import { replyJson, type ServedRoute } from "../call.ts";
import type { ServedNode } from "../served-node.ts";

/**
 * The live cgroups beside the desired ones, with what they use where `usage=true` asks for it, and their repair; on the
 * agent's own socket only.
 */
export function cgroupRoutes(node: ServedNode): readonly ServedRoute[] {
  const { cgroups, stats } = node.subsystems;
  const local = { endpoints: ["local"], access: { subresources: ["proxy"] } } as const;
  return [
    {
      ...local,
      pattern: "/nodelet/v1/cgroups",
      methods: ["GET"],
      handler: async (call) => {
        const report = await cgroups.report(podsWithStatus(node));
        const isMeasured = call.query.get("usage") === "true";
        const usage = isMeasured ? { usage: groupUses(await stats.measure()) } : {};
        await replyJson(call, { ...report, ...usage });
      },
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

/** Pods with cgroups; their statuses show which containers run. */
function podsWithStatus({ pipeline }: ServedNode): readonly IdentifiedPod[] {
  const active = pipeline.podFacts.values().filter(isActive);
  return active.map(({ uid, pod }) => {
    const status = pipeline.statuses.get(uid)?.status;
    return status ? { ...pod, status } : pod;
  });
}
