import type { RuntimeAbilities } from "../../config/gates/declared-features.ts";
import { type Reading, until } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { HealthProblem } from "../../kit/health/health.ts";
import { within } from "../../kit/within.ts";
import type { ListedImage } from "../../subsystems/images/images.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { NodeCapacity } from "../capacity.ts";
import { listedImages, type NodePressure, type NodeSnapshot } from "./derive-status.ts";

/** Dependencies for reading a snapshot. */
export interface SnapshotDeps {
  readonly clock: Clock;
  /** Listed every 30 s by their own module, largest first. */
  readonly images: Reading<readonly ListedImage[]>;
  readonly watch: Pick<Runtime["watch"], "health" | "lastReady" | "lastListing">;
  readonly amounts: () => NodeCapacity;
  readonly ips: () => Promise<readonly string[]>;
  readonly pressure: () => NodePressure;
  /** Declared features with a runtime of these abilities. */
  readonly declared: (able: RuntimeAbilities) => readonly string[] | undefined;
  /** Problems with the agent itself. */
  readonly health: Reading<readonly HealthProblem[]>;
  /** Whether the machine is going down. */
  readonly shuttingDown: Reading<boolean>;
  /** Volumes that a controller attached and pods use. */
  readonly volumesInUse: () => readonly string[];
}

/** The runtime must have been listed within this time (PLEG relist threshold). */
const LISTING_LIMIT_MS = 180_000;

/** The runtime is down when it was not ready for this time (kubelet.go maxWaitForContainerRuntime). */
const RUNTIME_LIMIT_MS = 30_000;
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
    return {
      amounts: deps.amounts(),
      ips: await deps.ips(),
      images: listedImages(deps.images.get(), maxImages),
      runtimeHandlers: health.handlers,
      features: health.features,
      declaredFeatures: deps.declared(health),
      problems: [...problemsOf(deps), ...shutdownOf(deps), ...notReadyFor(deps)],
      warnings: warningsOf(deps),
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

const NEVER_READY = "container runtime status check may not have completed yet";

/** Why the node is not ready, with the Go kubelet's text (runtime.go, kubelet_node_status.go). */
function problemsOf({ watch, clock }: SnapshotDeps): readonly string[] {
  const { problem, networkReady, networkProblem } = watch.health.get();
  const { lastReady } = watch;
  const problems: string[] = [];
  if (lastReady === undefined) problems.push(NEVER_READY);
  else if (clock.monotonic() - lastReady >= RUNTIME_LIMIT_MS)
    problems.push("container runtime is down");
  const listedAt = watch.lastListing.get();
  const silentMs = listedAt === undefined ? 0 : clock.monotonic() - listedAt;
  if (silentMs > LISTING_LIMIT_MS)
    problems.push(
      `PLEG is not healthy: pleg was last seen active ${Math.round(silentMs / 1000)}s ago; threshold is 3m0s`,
    );
  if (problem !== "") problems.push(problem);
  if (!networkReady) problems.push(networkProblem);
  return problems;
}

/** As the Go kubelet says it (nodeshutdown_manager.go ShutdownStatus). */
function shutdownOf({ shuttingDown }: SnapshotDeps): readonly string[] {
  return shuttingDown.get() ? ["node is shutting down"] : [];
}

/** Problems of the agent itself that have lasted so long that it cannot manage pods. */
function notReadyFor({ health, clock }: SnapshotDeps): readonly string[] {
  return health
    .get()
    .filter((problem) => isTooLong(problem, clock))
    .map(problemText);
}

/** Those with which it still can. */
function warningsOf({ health, clock }: SnapshotDeps): readonly string[] {
  return health
    .get()
    .filter((problem) => !isTooLong(problem, clock))
    .map(problemText);
}

function isTooLong({ notReadyAt }: HealthProblem, clock: Clock): boolean {
  return notReadyAt !== undefined && clock.monotonic() >= notReadyAt;
}

function problemText({ name, problem }: HealthProblem): string {
  return `${name}: ${problem}`;
}
