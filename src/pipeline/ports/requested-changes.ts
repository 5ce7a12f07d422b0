// pure
import type { Pod } from "../../api/generated/types.ts";
import { allocationOf, isSameAmount, type PodAllocation } from "../../api/pod/allocation.ts";
import { compareQuantities, parseQuantity } from "../../api/text/quantity.ts";

/** One amount of one container that is to be another. */
interface RequestedChange {
  readonly resource: "cpu" | "memory";
  readonly requirement: "requests" | "limits";
  readonly operation: "add" | "remove" | "increase" | "decrease";
}

/** Every amount that a resize asks to change (metrics kubelet_container_requested_resizes_total). */
export function requestedChanges(
  pod: Pod,
  { containers: wanted }: PodAllocation,
): readonly RequestedChange[] {
  const { containers: present } = allocationOf(pod);
  return Object.entries(wanted).flatMap(([name, now]) =>
    (["requests", "limits"] as const).flatMap((requirement) =>
      (["cpu", "memory"] as const).flatMap((resource): readonly RequestedChange[] => {
        const before = present[name]?.[requirement]?.[resource];
        const operation = operationOf(before, now[requirement]?.[resource]);
        return operation ? [{ resource, requirement, operation }] : [];
      }),
    ),
  );
}

/** An amount of 0 is as good as none (kubelet resizeOperationForResources). */
function operationOf(
  before: string | undefined,
  now: string | undefined,
): RequestedChange["operation"] | undefined {
  if (isSameAmount(now, before)) return undefined;
  if (isSameAmount(before, undefined)) return "add";
  if (now === undefined || isSameAmount(now, undefined)) return "remove";
  const order = compareQuantities(parseQuantity(now), parseQuantity(before ?? "0"));
  return order > 0 ? "increase" : "decrease";
}
