// pure
import type { PodRecord } from "../record/record.ts";

/** How many ended attempts of containers are kept (`--maximum-dead-containers…`, `--minimum-container-ttl-duration`). */
export interface DeadContainerLimits {
  /** Of one container; negative: all. */
  readonly perContainer: number;
  /** On the whole node; negative: no limit. */
  readonly onNode: number;
  /** Younger ones are left alone; counted from when they were made. */
  readonly minAgeMs: number;
}

/** Limits on dead containers, for one container. */
export interface KeptDead {
  /** At least one: the status and the log of the previous attempt are its. */
  readonly perContainer: number;
  readonly minAgeMs: number;
}

/** The Go kubelet's defaults. */
export const ONE_OF_EACH: DeadContainerLimits = { perContainer: 1, onNode: -1, minAgeMs: 0 };

/**
 * How many ended attempts each container may keep now. A limit of the node that is exceeded is shared out
 * evenly (kuberuntime_gc.go evictContainers), but never to less than one.
 */
export function keptDead(
  limits: DeadContainerLimits,
  pods: readonly Pick<PodRecord, "observed">[],
): KeptDead {
  const { minAgeMs, onNode } = limits;
  const perContainer = limits.perContainer < 0 ? Number.POSITIVE_INFINITY : limits.perContainer;
  if (onNode < 0) return { perContainer: Math.max(1, perContainer), minAgeMs };
  let dead = 0;
  let containers = 0;
  for (const { observed } of pods) {
    const ended = observed.containers.filter(({ state }) => state === "exited");
    dead += ended.length;
    containers += new Set(ended.map(({ name }) => name)).size;
  }
  const share =
    dead <= onNode ? perContainer : Math.min(perContainer, Math.floor(onNode / containers));
  return { perContainer: Math.max(1, share), minAgeMs };
}
