// pure
import { type PodRecord, STEP_CLEANUP } from "../record.ts";
import type { PodAction } from "./actions.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";

/** An action that removes, or prepares to remove, what is dead. */
type Removal = Extract<PodAction, { kind: "stopSandbox" | "removeContainer" | "removeSandbox" }>;

/**
 * Plans to remove what a running pod needs no more. Nothing waits for it, as for the Go kubelet's garbage collection:
 * after a failure only removals pause.
 */
export function planCleanup(
  { retries: { failures } }: PodRecord,
  removal: Removal,
  { context, draft }: { readonly context: PlanContext; readonly draft: PlanDraft },
): void {
  const stepFailure = failures[STEP_CLEANUP];
  if (stepFailure && stepFailure.notBefore > context.now) draft.wake(stepFailure.notBefore);
  else draft.actions.push({ ...removal, cleanup: true });
}
