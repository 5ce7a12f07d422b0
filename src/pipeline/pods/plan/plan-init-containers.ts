// pure
import type { ObservedContainer } from "../../../api/observation.ts";
import { attemptIn } from "../record/observed.ts";
import { hasRegularAttempt, isStarted } from "../record/phase.ts";
import type { PodRecord } from "../record/record.ts";
import { hasFailed, initContainers, type SpecContainer } from "../record/restart.ts";
import { type PlanParts, planContainer, type UsableSandbox } from "./plan-containers.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";

/**
 * Init containers one after the other, sidecars kept running from their turn on. Says whether the
 * regular containers may run (kuberuntime computeInitContainerActions).
 */
export function planInitContainers(
  record: PodRecord,
  sandbox: UsableSandbox,
  context: PlanContext,
  draft: PlanDraft,
): "pending" | "done" {
  const specs = initContainers(record.pod);
  const parts: PlanParts = { sandbox, context, draft };
  const attempts = specs.map(({ container }) =>
    sandbox.kind === "use"
      ? attemptIn(record.observed, sandbox.sandbox.id, container.name)
      : undefined,
  );
  const initialized = sandbox.kind === "use" && hasRegularAttemptIn(record, sandbox.sandbox.id);
  const progress = initialized
    ? specs.length
    : attempts.findLastIndex((attempt) => attempt !== undefined);
  for (const spec of specs) {
    const attempt = attempts[spec.index];
    if (spec.index < progress) {
      if (spec.kind === "sidecar") planContainer(record, spec, parts);
      continue;
    }
    if (!isDone(record, spec, attempt)) {
      planContainer(attempt ? record : forThisSandbox(record, spec, sandbox), spec, parts);
      return "pending";
    }
    if (spec.kind === "sidecar") planContainer(record, spec, parts);
  }
  return "done";
}

function hasRegularAttemptIn(record: PodRecord, sandboxId: string): boolean {
  return (
    hasRegularAttempt(record) &&
    (record.pod.spec?.containers ?? []).some(({ name }) =>
      attemptIn(record.observed, sandboxId, name),
    )
  );
}

function isDone(
  record: PodRecord,
  spec: SpecContainer,
  attempt: ObservedContainer | undefined,
): boolean {
  if (!attempt) return false;
  if (spec.kind === "sidecar") return attempt.state === "running" && isStarted(record, spec);
  return attempt.state === "exited" && !hasFailed(spec.kind, attempt);
}

/** In a new sandbox every init container runs again: what ended in an older one does not count. */
function forThisSandbox(record: PodRecord, spec: SpecContainer, sandbox: UsableSandbox): PodRecord {
  const here = sandbox.kind === "use" ? sandbox.sandbox.id : undefined;
  const containers = record.observed.containers.filter(
    ({ name, sandboxId }) => name !== spec.container.name || sandboxId === here,
  );
  return { ...record, observed: { ...record.observed, containers } };
}
