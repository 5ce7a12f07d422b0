import type { Pod } from "../../api/generated/types.ts";
import { type Call, replyJson } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import type { PodView, ServedNode } from "../served-node.ts";
import { podList } from "./reports.ts";

/** `/allocatedPods`: active pods with the resources that they were given, without statuses. */
export async function replyAllocatedPods(
  call: Call,
  { pipeline }: Pick<ServedNode, "pipeline">,
): Promise<void> {
  await replyJson(call, podList(pipeline.pods.list().filter(hasAllocation).map(allocatedPod)));
}

/** `/allocatedPods/{namespace}/{name}` and the same with `/{uid}`: one of them. */
export async function replyAllocatedPod(
  call: Call,
  { pipeline }: Pick<ServedNode, "pipeline">,
): Promise<void> {
  const { namespace, name, uid } = call.params;
  const found = pipeline.pods
    .list()
    .find(
      (record) =>
        hasAllocation(record) &&
        record.pod.metadata.namespace === namespace &&
        record.pod.metadata.name === name &&
        (uid === undefined || record.uid === uid),
    );
  if (!found) throw new HttpProblem(404, "pod not found\n");
  await replyJson(call, { kind: "Pod", apiVersion: "v1", ...allocatedPod(found) });
}

const allocatedPod = ({ pod }: PodView): Pod => ({ ...pod, status: {} });

/** Whether the pod was admitted, and holds what it was given. */
function hasAllocation({ desired, admission, life }: PodView): boolean {
  const isActive = life.kind === "running" || life.kind === "terminating";
  return desired.source !== "runtime" && admission.kind === "admitted" && isActive;
}
