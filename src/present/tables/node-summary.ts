// pure
import type { Overview, Problem } from "../shapes.ts";

/** The node in a few figures. */
export interface NodeSummary {
  readonly name: string;
  readonly ready: boolean;
  /** Why it is not ready; empty when it is. */
  readonly why: string;
  readonly version: string;
  /** E.g. `containerd 1.6.20`. */
  readonly runtime: string;
  /** When the agent began, Unix milliseconds. */
  readonly startedAt: number;
  /** `used` is `undefined` where it is not measured. */
  readonly cpuMilli: { readonly used: number | undefined; readonly capacity: number };
  readonly memoryBytes: { readonly used: number | undefined; readonly capacity: number };
  readonly pods: { readonly count: number; readonly max: number };
  /** Manifests that cannot be used, as `file: what is wrong`. */
  readonly problems: readonly string[];
}

/** Present usage of the machine. */
export interface NodeUsage {
  readonly cpuMilli: number | undefined;
  readonly memoryBytes: number;
}

/** The figures of an overview, with what is used where that is known. */
export function summarizeNode(
  overview: Overview,
  problems: readonly Problem[],
  usage: NodeUsage | undefined,
): NodeSummary {
  const { capacity, pods } = overview;
  return {
    name: overview.node,
    ready: overview.ready,
    why: overview.why,
    version: overview.version,
    runtime: overview.runtime,
    startedAt: overview.startedAtMs,
    cpuMilli: { used: usage?.cpuMilli, capacity: capacity.cpuMilli },
    memoryBytes: { used: usage?.memoryBytes, capacity: capacity.memoryBytes },
    pods: { count: pods.total, max: capacity.pods },
    problems: problems.map(({ origin, message }) => `${origin}: ${message}`),
  };
}
