// pure
import { attemptIn, livingContainers, newestSandbox } from "./observed.ts";
import type { PodRecord } from "./record.ts";
import { hasFailed, initContainers, regularContainers } from "./restart.ts";

/** How far a pod is in its life, for modules that allocate resources to it. */
interface DeviceLife {
  /** Its spec comes from a source, and not from what the runtime remembers. */
  readonly known: boolean;
  /** All of it was seen ended for good. */
  readonly ended: boolean;
  /** In the sandbox it has, its init containers are done. */
  readonly initsDone: boolean;
  /** Containers with a living process. */
  readonly running: ReadonlySet<string>;
}

/** The stage of the pod's life, from its record. */
export function deviceLife(record: PodRecord): DeviceLife {
  const { life, desired, observed } = record;
  return {
    known: desired.source !== "runtime",
    ended: life.kind === "terminated" || life.kind === "released",
    initsDone: areInitsDone(record),
    running: new Set(livingContainers(observed).map(({ name }) => name)),
  };
}

/**
 * Reported on a fresh observation of a ready sandbox only: in a new one the init containers run again, and one that is
 * about to start may already have been given what it needs.
 */
function areInitsDone({ sync, life, observed, pod }: PodRecord): boolean {
  const sandbox = newestSandbox(observed);
  if (sync.freshness !== "fresh" || life.kind !== "running" || !sandbox?.ready) return false;
  const began = regularContainers(pod).some(
    ({ container }) => attemptIn(observed, sandbox.id, container.name) !== undefined,
  );
  if (began) return true;
  return initContainers(pod).every(({ container, kind }) => {
    if (kind === "sidecar") return true;
    const attempt = attemptIn(observed, sandbox.id, container.name);
    return attempt?.state === "exited" && !hasFailed(kind, attempt);
  });
}
