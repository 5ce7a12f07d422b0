// pure
import { livingContainers, newestSandbox } from "./observed.ts";
import type { PodRecord } from "./record.ts";
import { standingsOf } from "./standing.ts";

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
function areInitsDone(record: PodRecord): boolean {
  const { sync, life, observed } = record;
  if (sync.freshness !== "fresh" || life.kind !== "running") return false;
  if (!newestSandbox(observed)?.ready) return false;
  const { init, regular } = standingsOf(record);
  if (regular.some(({ here }) => here !== undefined)) return true;
  return init.every(({ kind, here, ready }) => kind === "sidecar" || (here && ready));
}
