// pure
import type { ObservedContainer } from "../../../api/observation.ts";
import { after } from "../../../kit/instant.ts";
import { newestSandbox } from "../record/observed.ts";
import { type PodRecord, STEP_CLEANUP } from "../record/record.ts";
import { type PodAction, removalOf } from "./actions.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";

/** An action that removes, or prepares to remove, what is dead. */
type Removal = Extract<PodAction, { kind: "stopSandbox" | "removeContainer" | "removeSandbox" }>;

interface CleanupParts {
  readonly context: PlanContext;
  readonly draft: PlanDraft;
}

/**
 * Plans to remove what a pod needs no more, whatever its containers are at: dead sandboxes but the newest, and dead
 * attempts beyond those that are kept. A pod whose sandbox keeps dying, or whose containers end between two
 * observations, is left with no more of them than any other. Nothing waits for it, as for the Go kubelet's
 * garbage collection (kuberuntime_gc.go): after a failure only removals pause.
 */
export function planCleanup(record: PodRecord, parts: CleanupParts): void {
  removeOldSandboxes(record, parts);
  for (const name of new Set(record.observed.containers.map((container) => container.name)))
    removeSurplus(record, name, parts);
}

/** Dead sandboxes are stopped, so that address and namespace are free, and go as soon as no kept container lives in them. */
function removeOldSandboxes(record: PodRecord, parts: CleanupParts): void {
  const { observed } = record;
  const newest = newestSandbox(observed);
  for (const { id, ready, stopped } of observed.sandboxes) {
    if (id === newest?.id || ready) continue;
    if (!stopped && !isPlanned(parts.draft, id)) remove(record, { kind: "stopSandbox", id }, parts);
    const inUse = observed.containers.some(({ sandboxId }) => sandboxId === id);
    if (!inUse) remove(record, { kind: "removeSandbox", id }, parts);
  }
}

const isPlanned = ({ actions }: PlanDraft, sandboxId: string): boolean =>
  actions.some((action) => action.kind === "stopSandbox" && action.id === sandboxId);

/** Of the ended attempts of a container the newest are kept (the log of one is what `--previous` shows). */
function removeSurplus(record: PodRecord, name: string, parts: CleanupParts): void {
  const { perContainer, minAgeMs } = parts.context.keptDead;
  const { containers } = record.observed;
  const ended = containers.filter((each) => each.name === name && each.state === "exited");
  for (const attempt of [...neverStarted(record, name), ...ended.slice(perContainer)]) {
    const leftMs = minAgeMs === 0 ? 0 : attempt.createdAtMs + minAgeMs - parts.context.wallNow;
    if (leftMs > 0) parts.draft.wake(after(parts.context.now, leftMs));
    else remove(record, removalOf(attempt), parts);
  }
}

/** Attempts that were made and not started before another was made, as when their sandbox died in between. */
function neverStarted({ observed }: PodRecord, name: string): readonly ObservedContainer[] {
  const [, ...older] = observed.containers.filter((each) => each.name === name);
  return older.filter(({ state }) => state === "created");
}

function remove(
  { retries: { failures } }: PodRecord,
  removal: Removal,
  { context, draft }: CleanupParts,
): void {
  const stepFailure = failures[STEP_CLEANUP];
  if (stepFailure && stepFailure.notBefore > context.now) draft.wake(stepFailure.notBefore);
  else draft.actions.push({ ...removal, cleanup: true });
}
