import type { Lease, Node } from "../../api/generated/types.ts";
import { rfc3339Micro } from "../../api/text/timestamps.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import { isApiError, type KubeClient, LEASES } from "../../outside/kube/kube.ts";

/** Name of the node and duration of its lease. */
export interface LeaseOptions {
  readonly nodeName: string;
  readonly durationSeconds: number;
}

/** Dependencies for keeping the lease. */
export interface LeaseDeps {
  readonly client: Pick<KubeClient, "get" | "create" | "update">;
  readonly node: Reading<Node | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after every attempt. */
  readonly onAttempt: (outcome: LeaseOutcome) => void;
}

/** How an attempt to renew the lease ended; `refused`: the API server answered with an error. */
export type LeaseOutcome = "renewed" | "refused" | "unanswered";

const NAMESPACE = "kube-node-lease";
/** A quarter of the lease (nodeLeaseRenewIntervalFraction). */
const RENEW_SHARE = 0.25;
const RETRY = { initialMs: 100, maxMs: 7_000 };
/** Attempts at one renewal before the usual pause (maxUpdateRetries). */
const ATTEMPTS = 5;

/** Keeps the node's lease renewed until `signal` is aborted: the sign of life others go by. */
export async function keepLease(
  options: LeaseOptions,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  const periodMs = options.durationSeconds * 1000 * RENEW_SHARE;
  let latest: Lease | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      latest = await renew(latest, options, deps, signal);
      deps.onAttempt("renewed");
      failures = 0;
    } catch (error) {
      if (signal.aborted || !isOutside(error)) throw error;
      failures += 1;
      deps.onAttempt(isApiError(error) ? "refused" : "unanswered");
      // Recreated or changed: its present state has to be read again.
      if (isApiError(error)) latest = undefined;
      const fields = { failures, error };
      if (failures === ATTEMPTS) log.warn("failed to renew the node's lease; will retry", fields);
      else log.verbose(2, "failed to renew the node's lease; will retry", fields);
    }
    const soon = failures > 0 && failures < ATTEMPTS;
    const alarms = soon ? clock : clock.coalesced;
    await alarms.sleep(soon ? retryDelayMs(failures, RETRY) : periodMs, signal).catch(() => {});
  }
}

async function renew(
  known: Lease | undefined,
  options: LeaseOptions,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<Lease> {
  const place = { namespace: NAMESPACE, name: options.nodeName };
  const before = known ?? (await existing(place, deps, signal));
  const lease = leaseAfter(before, options, deps);
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
): Lease {
  const { uid } = node.get()?.metadata ?? {};
  const owned = (before?.metadata?.ownerReferences ?? []).length > 0;
  return {
    ...before,
    metadata: {
      name: nodeName,
      namespace: NAMESPACE,
      ...before?.metadata,
      // The lease goes with the node.
      ...(uid !== undefined && !owned
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
