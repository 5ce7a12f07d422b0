import type { RuntimeAbilities } from "../../config/gates/declared-features.ts";
import { type Reading, until } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { within } from "../../kit/within.ts";
import type { ListedImage } from "../../subsystems/images/images.ts";
import type { NodeCapacity } from "../capacity.ts";
import { type ReadinessDeps, readReadiness } from "../read-readiness.ts";
import { decideReadiness, readinessWarnings } from "../readiness.ts";
import { listedImages, type NodePressure, type NodeSnapshot } from "./derive-status.ts";

interface SnapshotDeps extends ReadinessDeps {
  readonly clock: Clock;
  /** Listed every 30 s by their own module, largest first. */
  readonly images: Reading<readonly ListedImage[]>;
  readonly amounts: () => NodeCapacity;
  readonly ips: () => Promise<readonly string[]>;
  readonly pressure: () => NodePressure;
  /** Declared features with a runtime of these abilities. */
  readonly declared: (able: RuntimeAbilities) => readonly string[] | undefined;
  /** Volumes that a controller attached and pods use. */
  readonly volumesInUse: () => readonly string[];
}

/** How long the first snapshot waits for the runtime: a node that was Ready shall not be NotReady for a restart of its agent. */
const FIRST_ANSWER_MS = 10_000;

/**
 * Reads a snapshot of the node for its status; `maxImages` as `nodeStatusMaxImages`. Until the runtime has answered
 * for the first time it waits for that, but not for long.
 */
export function snapshotReader(
  maxImages: number,
  deps: SnapshotDeps,
): (signal: AbortSignal) => Promise<NodeSnapshot> {
  const { clock, watch } = deps;
  const mayWaitUntil = clock.monotonic() + FIRST_ANSWER_MS;
  return async (signal) => {
    if (watch.lastReady === undefined)
      await untilReady(mayWaitUntil - clock.monotonic(), deps, signal);
    const health = watch.health.get();
    const readiness = readReadiness(deps);
    return {
      amounts: deps.amounts(),
      ips: await deps.ips(),
      images: listedImages(deps.images.get(), maxImages),
      runtimeHandlers: health.handlers,
      features: health.features,
      declaredFeatures: deps.declared(health),
      problems: decideReadiness(readiness).map(({ message }) => message),
      warnings: readinessWarnings(readiness),
      pressure: deps.pressure(),
      volumesInUse: deps.volumesInUse(),
      now: clock.wall(),
    };
  };
}

/** Waits until the runtime is ready, at most so long. */
async function untilReady(
  ms: number,
  { watch, clock }: SnapshotDeps,
  signal: AbortSignal,
): Promise<void> {
  if (ms <= 0) return;
  const limit = { clock, ms, what: "the container runtime" };
  await within(limit, signal, (own) => until(watch.health, ({ ready }) => ready, own)).catch(
    () => {},
  );
}
