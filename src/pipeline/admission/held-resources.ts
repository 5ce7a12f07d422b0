import type { Pod } from "../../api/generated/types.ts";
import { allocationOf, largerRequests, withAllocation } from "../../api/pod/allocation.ts";
import type { PodRecord } from "../pods/record.ts";
import type { AllocationLedger } from "./ledger.ts";

/** The pod with what it holds of the node: until a change was carried out, the larger of both. */
export function heldBy(
  { pod, resize }: Pick<PodRecord, "pod" | "resize">,
  ledger: AllocationLedger,
): Pod {
  const given = ledger.asAllocated(pod);
  if (!resize.inProgress && given === pod) return pod;
  return withAllocation(given, largerRequests(allocationOf(given), ledger.actuated(given)));
}
