import { allocationOf, isSameAllocation, withFootprint } from "../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodRecord } from "../pods/record/record.ts";
import type { AllocationLedger } from "./ledger.ts";

/** The pod with what it holds of the node: until a change was carried out, the larger of the sums before and after it. */
export function heldBy(
  { pod, resize }: Pick<PodRecord, "pod" | "resize">,
  ledger: AllocationLedger,
): IdentifiedPod {
  const given = ledger.asAllocated(pod);
  if (given === pod && !resize.inProgress) return pod;
  const allocation = allocationOf(given);
  // The record may be without resources that were allocated a moment ago.
  const isChanging = resize.inProgress || !isSameAllocation(allocation, allocationOf(pod));
  return isChanging ? withFootprint(given, allocation, [ledger.actuated(given)]) : pod;
}
