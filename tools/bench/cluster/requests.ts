// pure
import type { RequestCounts } from "./cluster-result.ts";

/** What is read of a line of kube-apiserver's audit log (audit.k8s.io/v1 Event). */
interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly subresource?: string };
}

/** Resources of which requests are made for pods and not for the node as a whole. */
const OF_PODS: ReadonlySet<string> = new Set([
  "pods",
  "pods/status",
  "events",
  "secrets",
  "configmaps",
  "serviceaccounts/token",
]);

/**
 * Requests that a user has made, by verb and resource; a request with several events (a watch that starts and
 * ends) counts once. The last line may be cut off.
 */
export function countRequests(log: string, user: string): RequestCounts {
  const counts: Record<string, number> = {};
  const counted = new Set<string>();
  for (const line of log.slice(0, log.lastIndexOf("\n") + 1).split("\n")) {
    if (line === "") continue;
    const { auditID, verb, requestURI, user: caller, objectRef }: AuditEvent = JSON.parse(line);
    if (caller.username !== user || counted.has(auditID)) continue;
    counted.add(auditID);
    const { resource = requestURI.split("?")[0], subresource } = objectRef ?? {};
    const key = `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** All requests of several counts. */
export function addRequests(all: readonly RequestCounts[]): RequestCounts {
  const sum: Record<string, number> = {};
  for (const counts of all)
    for (const [key, count] of Object.entries(counts)) sum[key] = (sum[key] ?? 0) + count;
  return sum;
}

/** Those that are made because of pods: not the node's lease and status. */
export function requestsOfPods(counts: RequestCounts): RequestCounts {
  return Object.fromEntries(
    Object.entries(counts).filter(([key]) => OF_PODS.has(key.slice(key.indexOf(" ") + 1))),
  );
}

export function totalOf(counts: RequestCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
