/**
 * The node in the API. Owns: the node's object there, as far as a kubelet writes it, and its lease. In:
 * what is seen of the machine. Out: the object as the API has it. Invariants: a node that was deleted
 * is registered again; nothing is sent when nothing changed, but at the latest when the report is due.
 * Example: `new Heartbeat(options, deps).start()`.
 */
import { isSame, STATUS_RULES, strategicDiff } from "../../api/decode/strategic-diff.ts";
import type { Node, NodeStatus } from "../../api/generated/types.ts";
import type { NodeEvents } from "../../api/ports/events.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { isOutside, withoutFigures } from "../../kit/errors.ts";
import { ageCheck, type HealthCheck } from "../../kit/health/health.ts";
import type { Log } from "../../kit/log.ts";
import { type Wakes, waitForChange } from "../../kit/loops/wakeup.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import { followObjects, isApiError, type KubeClient, NODES } from "../../outside/kube/kube.ts";
import {
  comparableStatus,
  conditionChanges,
  deriveNodeStatus,
  type NodeIdentity,
  type NodeSnapshot,
  schedulableChange,
  withoutExtended,
} from "./derive-status.ts";
import {
  initialNode,
  ownMetadataPatch,
  type RegistrationOptions,
  reconcilePatch,
} from "./initial-node.ts";
import { isOlder } from "./is-older.ts";
import { keepLease, type LeaseOutcome } from "./lease.ts";

/** How the node shows itself. */
interface HeartbeatOptions {
  readonly identity: NodeIdentity;
  /** Absent: the node's object is created by others (`registerNode: false`). */
  readonly registration: RegistrationOptions | undefined;
  /** `nodeStatusUpdateFrequency`. */
  readonly updateMs: number;
  /** `nodeStatusReportFrequency`. */
  readonly reportMs: number;
  /** `nodeLeaseDurationSeconds`. */
  readonly leaseSeconds: number;
}

interface HeartbeatDeps {
  /** A client of its own, without a limit: a busy agent is not a dead one. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly reachable: Reading<boolean>;
  /** Reads a snapshot of the machine. */
  readonly readSnapshot: (signal: AbortSignal) => Promise<NodeSnapshot>;
  /** A change of any of these triggers an update without waiting for the period. */
  readonly wakeOn: readonly Reading<unknown>[];
  /** The node as the API has it; undefined as long as it has none. The heartbeat is its writer. */
  readonly node: Cell<Node | undefined>;
  readonly events: NodeEvents;
}

const REGISTER_RETRY = { initialMs: 100, maxMs: 7_000 };
const UPDATE_RETRY = { initialMs: 200, maxMs: 10_000 };

/** The node's object, kept up to date in the API. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #deps: HeartbeatDeps;
  readonly #node: Cell<Node | undefined>;
  /** Rises when the API no longer has the node. */
  readonly #deleted = new Cell(0);
  #reportedAt: MonotonicMs | undefined;
  /** When the lease was last renewed; at first when that began. */
  #renewedAt: MonotonicMs | undefined;
  #leaseOutcome: LeaseOutcome = "unanswered";
  #reportAfterMs: number;
  #registered = false;
  /** Whether resources of a previous node object were reset in the status. */
  #reset = false;
  /** Whether the node is cordoned, as last recorded; at first it is not. */
  #unschedulable = false;
  /** The API server was away: its watch reports only later what has become of the node meanwhile. */
  #mustAsk = false;
  /** Why the node is not ready, as last logged. */
  #notReadyFor: string | undefined;

  constructor(options: HeartbeatOptions, deps: HeartbeatDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#node = deps.node;
    this.#reportAfterMs = options.reportMs;
  }

  /** Fails when the lease has run out: others then take the node for dead. */
  get leaseCheck(): HealthCheck {
    return ageCheck({
      name: "lease",
      severity: "warning",
      clock: this.#deps.clock,
      limitMs: this.#options.leaseSeconds * 1000,
      since: () => this.#renewedAt,
      missing: "the node's lease has not been renewed",
    });
  }

  /** How the last attempt to renew the lease ended; `unanswered` before the first. */
  get leaseOutcome(): LeaseOutcome {
    return this.#leaseOutcome;
  }

  /** Registers the node and keeps its object and its lease, in the scope. */
  start(): void {
    const { scope, client, clock, log } = this.#deps;
    const { identity, leaseSeconds } = this.#options;
    const lease = { nodeName: identity.nodeName, durationSeconds: leaseSeconds };
    scope.spawn("node object", "restart", (signal) => this.#keepStatus(signal));
    scope.spawn("own node", "restart", (signal) => this.#follow(signal));
    const onAttempt = (outcome: LeaseOutcome) => {
      this.#leaseOutcome = outcome;
      if (outcome === "renewed") this.#renewedAt = clock.monotonic();
    };
    this.#renewedAt = clock.monotonic();
    scope.spawn("lease", "restart", (signal) =>
      keepLease(lease, { client, node: this.#node, clock, log, onAttempt }, signal),
    );
  }

  /** Watches the node, to react at once when it is changed or deleted. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { client, clock, random, log } = this.#deps;
    const fieldSelector = `metadata.name=${this.#options.identity.nodeName}`;
    const options = { resource: NODES, fieldSelector };
    for await (const change of followObjects(options, { client, clock, random, log }, signal)) {
      const node = change.kind === "all" ? change.objects[0] : change.object;
      // An answer to a report may have been quicker than the watch: what was before it would bring back its differences.
      if (change.kind === "set" && node && isOlder(node, this.#node.get())) continue;
      if (change.kind !== "gone" && node) this.#node.set(node);
      else if (this.#node.get() !== undefined) {
        this.#node.set(undefined);
        this.#deleted.set(this.#deleted.get() + 1);
      }
    }
  }

  async #keepStatus(signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.#register(signal);
        await this.#update(failures, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted || !isOutside(error)) throw error;
        failures += 1;
        if (isApiError(error, 404)) this.#registered = false;
        const fields = { error, failures };
        if (failures === 5) log.warn("failed to update the node's status; will retry", fields);
        else log.verbose(2, "failed to update the node's status; will retry", fields);
      }
      await this.#pause(failures, signal);
    }
  }

  /** Makes the node's object, or makes the one that is there ours. */
  async #register(signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#deps;
    const { identity, registration } = this.#options;
    if (this.#registered || !registration) return;
    for (let failures = 1; !signal.aborted; failures += 1) {
      const snapshot = await this.#deps.readSnapshot(signal);
      const status = deriveNodeStatus(undefined, identity, snapshot);
      const initial = initialNode(identity, registration, status);
      try {
        const made = await this.#createOrAdopt(initial, signal);
        this.#registered = true;
        this.#node.set(made);
        log.info("node registered", { node: identity.nodeName });
        return;
      } catch (error) {
        if (signal.aborted || !isOutside(error)) throw error;
        const fields = { error, server: client.transport.reachable.get() };
        if (failures === 1 || error.code === "denied")
          log.warn("failed to register the node; will retry", fields);
        else log.verbose(2, "failed to register the node; will retry", fields);
        await clock.sleep(retryDelayMs(failures, REGISTER_RETRY), signal).catch(() => {});
      }
    }
  }

  async #createOrAdopt(initial: Node, signal: AbortSignal): Promise<Node> {
    const { client } = this.#deps;
    const { nodeName } = this.#options.identity;
    let existing: Node | undefined;
    try {
      const made = await client.create(NODES, {}, initial, signal);
      this.#reportedAt = this.#deps.clock.monotonic();
      return made;
    } catch (error) {
      // An agent that may not create nodes may still find its own (tryRegisterWithAPIServer).
      if (isApiError(error, 403)) existing = await this.#given(error, signal);
      else if (!isApiError(error, 409)) throw error;
    }
    existing ??= await client.get(NODES, { name: nodeName }, signal);
    const body = reconcilePatch(existing, initial);
    if (!body) return existing;
    return await client.patch(NODES, { name: nodeName }, { kind: "strategic", body }, signal);
  }

  /** The node created by others; throws the registration error when there is none. */
  async #given(forbidden: unknown, signal: AbortSignal): Promise<Node> {
    const { nodeName } = this.#options.identity;
    try {
      return await this.#deps.client.get(NODES, { name: nodeName }, signal);
    } catch (error) {
      throw isApiError(error, 404) ? forbidden : error;
    }
  }

  /**
   * Sends the status if it changed or its report is due. What the API has is known from the watch and from answers; after
   * a failure, or when the API server was away, it is asked for (kubelet_node_status.go tryUpdateNodeStatus).
   */
  async #update(failures: number, signal: AbortSignal): Promise<void> {
    const { client, clock, random, readSnapshot, events } = this.#deps;
    const { identity, reportMs } = this.#options;
    const place = { name: identity.nodeName };
    const followed = failures > 0 || this.#mustAsk ? undefined : this.#node.get();
    const known = await this.#withOwnMetadata(followed ?? (await this.#ask(signal)), signal);
    const snapshot = await readSnapshot(signal);
    const resets = snapshot.amounts.resetsExtended === true && !this.#reset;
    const before = resets ? withoutExtended(known.status ?? {}) : known.status;
    const status = deriveNodeStatus(before, identity, snapshot);
    const changed = !isSame(comparableStatus(known.status ?? {}), comparableStatus(status));
    const now = clock.monotonic();
    const due = this.#reportedAt === undefined || now - this.#reportedAt >= this.#reportAfterMs;
    if (changed || due) {
      const diff = strategicDiff({ ...known.status }, { ...status }, STATUS_RULES);
      const body = { metadata: { uid: known.metadata?.uid ?? "" }, status: diff ?? {} };
      const patch = { kind: "strategic", body } as const;
      const made = await client.patch(NODES, { ...place, subresource: "status" }, patch, signal);
      this.#node.set(made);
      this.#reportedAt = now;
      // Nodes that changed together shall not report together for ever after.
      this.#reportAfterMs = changed ? reportMs * (0.5 + random.next()) : reportMs;
    }
    this.#reset = true;
    for (const change of conditionChanges(identity.nodeName, known.status, status))
      events.ofNode(change);
    const unschedulable = known.spec?.unschedulable === true;
    if (unschedulable !== this.#unschedulable)
      events.ofNode(schedulableChange(identity.nodeName, unschedulable));
    this.#unschedulable = unschedulable;
    this.#logReady(status);
  }

  async #ask(signal: AbortSignal): Promise<Node> {
    const place = { name: this.#options.identity.nodeName };
    const found = await this.#deps.client.get(NODES, place, signal);
    this.#node.set(found);
    this.#mustAsk = false;
    return found;
  }

  /** Restores the labels that describe the machine when they were changed: pods are admitted by them. */
  async #withOwnMetadata(known: Node, signal: AbortSignal): Promise<Node> {
    const { identity, registration } = this.#options;
    const body = ownMetadataPatch(known, identity, registration);
    if (!body) return known;
    const { client, log } = this.#deps;
    log.info("reconciled labels and annotations of the node", { patch: JSON.stringify(body) });
    const place = { name: identity.nodeName };
    const patched = await client.patch(NODES, place, { kind: "strategic", body }, signal);
    this.#node.set(patched);
    return patched;
  }

  /** Logs why the node is not ready, once for each reason, and that it is ready again. */
  #logReady({ conditions = [] }: NodeStatus): void {
    const ready = conditions.find(({ type }) => type === "Ready");
    const problem = ready?.status === "True" ? undefined : withoutFigures(ready?.message ?? "");
    if (problem === this.#notReadyFor) return;
    this.#notReadyFor = problem;
    if (problem === undefined) this.#deps.log.info("the node is ready");
    else
      this.#deps.log.warn("the node is not ready", {
        error: ready?.message ?? "no Ready condition",
      });
  }

  /** Waits for the next update. What makes a node Ready wakes it, so that the first Ready comes at once. */
  async #pause(failures: number, signal: AbortSignal): Promise<void> {
    const { clock, wakeOn, reachable } = this.#deps;
    const limit =
      failures > 0
        ? { clock, ms: retryDelayMs(failures, UPDATE_RETRY) }
        : { clock: clock.coalesced, ms: this.#options.updateMs };
    const reconnected: Wakes = {
      subscribe: (wake) =>
        reachable.subscribe((now) => {
          if (!now) return;
          this.#mustAsk = true;
          wake();
        }),
    };
    await waitForChange([...wakeOn, this.#deleted, reconnected], limit, signal);
  }
}
