import type { RuntimeAbilities } from "../../config/gates/declared-features.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { HealthProblem } from "../../kit/health/health.ts";
import type { ListedImage } from "../../subsystems/images/images.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { NodeCapacity } from "../capacity.ts";
import { listedImages, type NodePressure, type NodeSnapshot } from "./derive-status.ts";

/** Dependencies for reading a snapshot. */
export interface SnapshotDeps {
  readonly clock: Clock;
  /** Listed every 30 s by their own module, largest first. */
  readonly images: Reading<readonly ListedImage[]>;
  readonly watch: Pick<Runtime["watch"], "health" | "lastListing">;
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

/** Reads a snapshot of the node for its status; `maxImages` as `nodeStatusMaxImages`. */
export function snapshotReader(maxImages: number, deps: SnapshotDeps): () => Promise<NodeSnapshot> {
  const { clock, watch } = deps;
  return async () => {
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

const NEVER_CHECKED = "container runtime status check may not have completed yet";

/** Why the node is not ready, with the Go kubelet's text (runtime.go, kubelet_node_status.go). */
function problemsOf({ watch, clock }: SnapshotDeps): readonly string[] {
  const { ready, message, networkReady, networkProblem } = watch.health.get();
  const problems: string[] = [];
  if (!ready) problems.push(message === NEVER_CHECKED ? message : "container runtime is down");
  const listedAt = watch.lastListing.get();
  const silentMs = listedAt === undefined ? 0 : clock.monotonic() - listedAt;
  if (silentMs > LISTING_LIMIT_MS)
    problems.push(
      `PLEG is not healthy: pleg was last seen active ${Math.round(silentMs / 1000)}s ago; threshold is 3m0s`,
    );
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
