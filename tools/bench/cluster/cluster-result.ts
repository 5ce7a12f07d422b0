// pure
/** What is measured of a kubelet as a node of a real API server. Times are milliseconds, as the API shows them. */
import type { Steady } from "../result.ts";

/** Number of requests of the node's user, by verb and resource, like `patch pods/status`. */
export type RequestCounts = Readonly<Record<string, number>>;

/** One kubelet on one fresh node of a fresh cluster. */
export interface ClusterRound {
  /** Create → running of one pod after the other by bare calls to the runtime. */
  readonly floorMs: readonly number[];
  /** From the start of the process until the API has the node as Ready. */
  readonly startUpMs: number;
  /** Before the first pod. */
  readonly steady: readonly [Steady];
  /** Requests in that time. */
  readonly idleRequests: RequestCounts;
  /** The first pod after the start of the agent. */
  readonly first: PodGroup;
  /** Further pods, one at a time. */
  readonly singles: readonly PodGroup[];
  /** Many pods at once, with two TCP probes a second each and without. */
  readonly probed: PodGroup;
  readonly plain: PodGroup;
  /** As many with probes for the second time: by then the agent's code has been compiled. */
  readonly again: PodGroup;
}

/** Pods that are created and deleted together. */
export interface PodGroup {
  /** From the creation through the API until the API has the pod as Ready, for each. */
  readonly readyMs: readonly number[];
  /** From the deletion until the API no longer has the pod. */
  readonly goneMs: readonly number[];
  /** CPU time of the agent until shortly after the last was ready. */
  readonly startCpuMs: number;
  /** The same, from the deletion until shortly after the last was gone. */
  readonly stopCpuMs: number;
  /** From the first creation until the last pod is gone. */
  readonly requests: RequestCounts;
  /** All of them ready and left alone; undefined where they were not. */
  readonly steady: Steady | undefined;
}
