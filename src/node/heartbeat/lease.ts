import type { Lease, Node } from "../../api/generated/types.ts";
import { rfc3339Micro } from "../../api/text/timestamps.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { type Reading, until } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { isApiError, type KubeClient, LEASES } from "../../outside/kube/kube.ts";

/** Name of the node and duration of its lease. */
interface LeaseOptions {
  readonly nodeName: string;
  readonly durationSeconds: number;
}

interface LeaseDeps {
  readonly client: Pick<KubeClient, "get" | "create" | "update">;
  readonly node: Reading<Node | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after every attempt. */
  readonly onAttempt: (outcome: LeaseOutcome) => void;
}

/**
 * How an attempt to renew the lease ended; `refused`: the API server answered with an error. `waiting`: the lease has no owner
 * yet, as the API server is not known to have the node.
 */
export type LeaseOutcome = "renewed" | "refused" | "unanswered" | "waiting";

const NAMESPACE = "kube-node-lease";
/** A quarter of the lease (nodeLeaseRenewIntervalFraction). */
const RENEW_SHARE = 0.25;
const RETRY = { initialMs: 100, maxMs: 7_000 };
/** Attempts at one renewal before the usual pause (maxUpdateRetries). */
const ATTEMPTS = 5;

/**
 * Keeps the node's lease renewed until `signal` is aborted: the sign of life others go by. A lease is never written without
 * an owner, as it would stay when the node is deleted: until the node is known, there is none (SetNodeOwnerFunc).
 */
export async function keepLease(
  options: LeaseOptions,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  const periodMs = options.durationSeconds * 1000 * RENEW_SHARE;
  let latest: Lease | undefined;
  let failures = 0;
  let isWaiting = false;
  while (!signal.aborted) {
    try {
      latest = await renew(latest, options, deps, signal);
      deps.onAttempt(latest ? "renewed" : "waiting");
      failures = 0;
      isWaiting = latest === undefined;
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      failures += 1;
      isWaiting = false;
      deps.onAttempt(isApiError(error) ? "refused" : "unanswered");
      // Recreated or changed: its present state has to be read again.
      if (isApiError(error)) latest = undefined;
      const fields = { failures, error };
      if (failures === ATTEMPTS) log.warn("failed to renew the node's lease; will retry", fields);
      else log.verbose(2, "failed to renew the node's lease; will retry", fields);
    }
    if (isWaiting) {
      await until(deps.node, isKnown, signal).catch(() => {});
      continue;
    }
    await pause(failures, periodMs, clock, signal);
  }
}

async function pause(failures: number, periodMs: number, clock: Clock, signal: AbortSignal) {
  const soon = failures > 0 && failures < ATTEMPTS;
  const alarms = soon ? clock : clock.coalesced;
  await alarms.sleep(soon ? retryDelayMs(failures, RETRY) : periodMs, signal).catch(() => {});
}

const isKnown = (node: Node | undefined) => node?.metadata?.uid !== undefined;

/** The lease as it is then; `undefined` while it can have no owner. */
async function renew(
  known: Lease | undefined,
  options: LeaseOptions,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const place = { namespace: NAMESPACE, name: options.nodeName };
  const before = known ?? (await existing(place, deps, signal));
  const lease = leaseAfter(before, options, deps);
  if (!lease) return undefined;
  return before
    ? await deps.client.update(LEASES, place, lease, signal)
    : await deps.client.create(LEASES, { namespace: NAMESPACE }, lease, signal);
}

async function existing(
  place: { readonly namespace: string; readonly name: string },
  { client }: LeaseDeps,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  try {
    return await client.get(LEASES, place, signal);
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}

function leaseAfter(
  before: Lease | undefined,
  { nodeName, durationSeconds }: LeaseOptions,
  { node, clock }: LeaseDeps,
): Lease | undefined {
  const { uid } = node.get()?.metadata ?? {};
  const { ownerReferences = [] } = before?.metadata ?? {};
  if (ownerReferences.length === 0 && uid === undefined) return undefined;
  return {
    ...before,
    metadata: {
      name: nodeName,
      namespace: NAMESPACE,
      ...before?.metadata,
      // The lease goes with the node.
      ...(uid !== undefined && ownerReferences.length === 0
        ? { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }] }
        : {}),
    },
    spec: {
      ...before?.spec,
      holderIdentity: nodeName,
      leaseDurationSeconds: durationSeconds,
      renewTime: rfc3339Micro(clock.wall()),
    },
  };
}
