// pure

/** How the agent is, as far as a restart of it may cure something. */
export interface WatchedAgent {
  /** Problems of health checks that a restart may cure. */
  readonly unhealthy: readonly string[];
  /** Since when the runtime was not listed completely, and whether it answers. */
  readonly listing: { readonly ageMs: number; readonly isRuntimeReady: boolean };
  /** Whether the node's lease has run out, and whether the API server can be reached; absent without one. */
  readonly lease?: { readonly hasRunOut: boolean; readonly isReachable: boolean };
}

/** The threshold beyond which the Go kubelet's listing is not healthy (PLEG). */
const LISTING_LIMIT_MS = 180_000;

/**
 * Why the agent is to be restarted; `undefined` when it is well, or when a restart would cure nothing: a runtime or an
 * API server that does not answer is no fault of the agent. That the event loop turns is shown by being asked at all.
 */
export function judgeWatchdog({ unhealthy, listing, lease }: WatchedAgent): string | undefined {
  if (unhealthy.length > 0) return unhealthy.join("; ");
  if (listing.isRuntimeReady && listing.ageMs > LISTING_LIMIT_MS)
    return `the runtime answers, and was not listed for ${Math.round(listing.ageMs / 1000)} s`;
  if (lease?.hasRunOut === true && lease.isReachable)
    return "the API server can be reached, and the node's lease has run out";
  return undefined;
}
