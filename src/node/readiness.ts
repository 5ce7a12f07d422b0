// pure
import type { MonotonicMs } from "../kit/clock.ts";
import type { HealthProblem } from "../kit/health/health.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";

type RuntimeHealth = ReturnType<Runtime["watch"]["health"]["get"]>;

/** What the node's readiness follows from. Times are monotonic. */
export interface ReadinessFacts {
  readonly now: MonotonicMs;
  readonly runtime: Pick<
    RuntimeHealth,
    "ready" | "problem" | "message" | "networkReady" | "networkProblem" | "networkMessage"
  >;
  /** When the runtime last said that it is ready, and when it last said anything of its status. */
  readonly lastReady: MonotonicMs | undefined;
  readonly lastAnswer: MonotonicMs | undefined;
  /** When the last complete listing began. */
  readonly listedAt: MonotonicMs | undefined;
  /** Problems of the agent itself. */
  readonly health: readonly HealthProblem[];
  readonly shuttingDown: boolean;
}

/** Why the node is not ready. */
interface ReadinessProblem {
  readonly kind: "runtime" | "network" | "shutdown" | "agent";
  /** For the node's object, with the Go kubelet's text (runtime.go, kubelet_node_status.go). */
  readonly message: string;
  /** For people, with the cause in place of its symptom. */
  readonly cause: string;
}

/** The runtime must have been listed within this time (PLEG relist threshold). */
const LISTING_LIMIT_MS = 180_000;
/** The runtime is down when it was not ready for this time (kubelet.go maxWaitForContainerRuntime). */
const RUNTIME_LIMIT_MS = 30_000;

const NEVER_READY = "container runtime status check may not have completed yet";

/**
 * Why the node is not ready; empty when it is. The one source for the node's object in the API and for what the agent itself
 * shows, so that both say the same at any time.
 */
export function decideReadiness(facts: ReadinessFacts): readonly ReadinessProblem[] {
  const { runtime } = facts;
  const cause = runtimeCause(facts);
  const problems: ReadinessProblem[] = runtimeMessages(facts).map((message) => ({
    kind: "runtime",
    message,
    cause: cause ?? message,
  }));
  if (!runtime.networkReady) {
    const { networkProblem, networkMessage } = runtime;
    const words = networkMessage || "no pod network";
    problems.push({ kind: "network", message: networkProblem, cause: words });
  }
  if (facts.shuttingDown) {
    const message = "node is shutting down";
    problems.push({ kind: "shutdown", message, cause: message });
  }
  for (const each of facts.health) {
    if (!isTooLong(each, facts.now)) continue;
    const message = healthText(each);
    problems.push({ kind: "agent", message, cause: message });
  }
  return problems;
}

/** Problems of the agent with which it still can manage pods. */
export function readinessWarnings({
  health,
  now,
}: Pick<ReadinessFacts, "health" | "now">): readonly string[] {
  return health.filter((each) => !isTooLong(each, now)).map(healthText);
}

/**
 * What is wrong with the runtime, for people: also of what does not make the node not ready yet. `undefined` when it is well.
 */
export function runtimeCause({
  now,
  runtime,
  lastAnswer,
  listedAt,
}: ReadinessFacts): string | undefined {
  if (lastAnswer === undefined)
    return runtime.ready ? undefined : runtime.message || "the runtime is not ready";
  const silentMs = now - lastAnswer;
  // While it does not answer its last word is the error of asking.
  const isSilent = silentMs >= RUNTIME_LIMIT_MS;
  if (isSilent) return `container runtime has not answered for ${spoken(silentMs)}`;
  if (!runtime.ready) return runtime.message || "the runtime is not ready";
  const unlistedMs = listedAt === undefined ? 0 : now - listedAt;
  if (unlistedMs > LISTING_LIMIT_MS)
    return `container runtime has not listed its pods for ${spoken(unlistedMs)}`;
  return undefined;
}

function runtimeMessages({ now, runtime, lastReady, listedAt }: ReadinessFacts): readonly string[] {
  const messages: string[] = [];
  if (lastReady === undefined) messages.push(NEVER_READY);
  else if (now - lastReady >= RUNTIME_LIMIT_MS) messages.push("container runtime is down");
  const silentMs = listedAt === undefined ? 0 : now - listedAt;
  if (silentMs > LISTING_LIMIT_MS)
    messages.push(
      `PLEG is not healthy: pleg was last seen active ${Math.round(silentMs / 1000)}s ago; threshold is 3m0s`,
    );
  if (runtime.problem !== "") messages.push(runtime.problem);
  return messages;
}

function isTooLong({ notReadyAt }: HealthProblem, now: MonotonicMs): boolean {
  return notReadyAt !== undefined && now >= notReadyAt;
}

function healthText({ name, problem }: HealthProblem): string {
  return `${name}: ${problem}`;
}

const MINUTE_MS = 60_000;

/** `41 s`, `12 min`. */
function spoken(ms: number): string {
  return ms < 10 * MINUTE_MS ? `${Math.floor(ms / 1000)} s` : `${Math.floor(ms / MINUTE_MS)} min`;
}
