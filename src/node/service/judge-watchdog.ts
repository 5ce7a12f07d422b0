// pure

/** How the agent is, as far as a restart of it may cure something. */
export interface WatchedAgent {
  /** Problems of health checks that a restart may cure. */
  readonly unhealthy: readonly string[];
  /** Since when the runtime was not listed completely, and whether it answers. */
  readonly listing: { readonly ageMs: number; readonly isRuntimeReady: boolean };
  /** Turns of its event loop take long: it has too much to do, or the machine is too slow for it. */
  readonly isOverloaded: boolean;
  /** Absent without an API server. */
  readonly lease?: WatchedLease;
}

/** The node's lease, as far as it shows that the agent is stuck. */
export interface WatchedLease {
  readonly hasExpired: boolean;
  /** The API server answered the last renewal with an error, or does not have the node that the lease belongs to. */
  readonly isRefused: boolean;
  /** Since the server last answered any other request, in milliseconds; absent when it never did. */
  readonly answerAgeMs?: number;
}

/** An API server that answered something else within this time is not the reason why the lease expired. */
const ANSWER_LIMIT_MS = 60_000;

const NO_LEASE: WatchedLease = { hasExpired: false, isRefused: false };

/** The threshold beyond which the Go kubelet's listing is not healthy (PLEG). */
const LISTING_LIMIT_MS = 180_000;

/**
 * Why the agent is to be restarted; `undefined` when it is healthy, or when a restart would not help: a runtime or an
 * API server that does not answer, is overloaded or refuses the lease (permissions, a full disk) is no fault of the agent,
 * and restarting all nodes would make it worse. An agent that is overloaded renews its lease late, and one that has just
 * started has more to do. That the event loop turns is shown by being called at all.
 */
export function judgeWatchdog(agent: WatchedAgent): string | undefined {
  const { unhealthy, listing, lease, isOverloaded } = agent;
  if (unhealthy.length > 0) return unhealthy.join("; ");
  if (listing.isRuntimeReady && listing.ageMs > LISTING_LIMIT_MS)
    return `the runtime answers, and was not listed for ${Math.round(listing.ageMs / 1000)} s`;
  const { hasExpired, isRefused, answerAgeMs = Number.POSITIVE_INFINITY } = lease ?? NO_LEASE;
  if (hasExpired && !isRefused && !isOverloaded && answerAgeMs <= ANSWER_LIMIT_MS)
    return "the API server answers other requests, and the node's lease has expired";
  return undefined;
}
