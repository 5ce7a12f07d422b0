// pure
import type { EventText } from "../../api/event-text.ts";

/** Outcome of limiting the group of all pods; `failed` is retried and recorded as an event. */
export type NodeEnforcement =
  | { readonly kind: "enforced" }
  | { readonly kind: "failed"; readonly message: string };

/** The event about the node after an attempt, with the Go kubelet's text. */
export function enforcementEvent(enforcement: NodeEnforcement): EventText {
  if (enforcement.kind === "enforced") {
    const message = "Updated Node Allocatable limit across pods";
    return { type: "Normal", reason: "NodeAllocatableEnforced", message };
  }
  const message = `Failed to update Node Allocatable Limits ${enforcement.message}`;
  return { type: "Warning", reason: "FailedNodeAllocatableEnforcement", message };
}
