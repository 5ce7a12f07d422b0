// pure
/** What is measured, as it is written to the JSON file. Times are milliseconds since a pod's creation. */

/** Everything of one run; `R` is what a round measures. */
export interface BenchResult<R = Round> {
  /** Of this format. */
  readonly format: 1;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly machine: Machine;
  readonly options: {
    readonly rounds: number;
    readonly pods: number;
    readonly singles: number;
    readonly idleSeconds: number;
    readonly probes: boolean;
  };
  readonly subjects: readonly SubjectResult<R>[];
}

/** Where it was measured; nothing that names the machine. */
export interface Machine {
  readonly cpus: number;
  readonly cpuModel: string;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  /** Name and version. */
  readonly runtime: string;
  /** Load of the last minute before the first round and after the last. */
  readonly loadBefore: number;
  readonly loadAfter: number;
}

/** One kubelet in all rounds. */
export interface SubjectResult<R = Round> {
  readonly label: string;
  /** What it says of itself, like `v1.37.2`. */
  readonly version: string;
  readonly isNodelet: boolean;
  readonly rounds: readonly R[];
}

/** One kubelet on one fresh node. */
export interface Round {
  readonly floor: Floor;
  /** From the start of the process until its API answers. */
  readonly startUpMs: number;
  readonly single: {
    /** Without the one to warm up. */
    readonly pods: readonly PodTimes[];
    /** From the removal of the manifest until nothing of the pod runs. */
    readonly stoppedMs: readonly number[];
  };
  readonly together: Together;
  /** The agent at rest, with 0, 10 and all pods. */
  readonly steady: readonly Steady[];
  readonly probing: Steady | undefined;
}

/** Many pods at once, and their end. */
export interface Together {
  readonly pods: readonly PodTimes[];
  /** CPU time of the agent, from the first creation until shortly after the last pod was ready. */
  readonly startCpuMs: number;
  readonly stoppedMs: readonly number[];
  readonly stopCpuMs: number;
}

/** When the kubelet's API first showed a pod running and ready. */
export interface PodTimes {
  readonly runningMs: number;
  readonly readyMs: number;
}

/** The agent over a window in which nothing changes. */
export interface Steady {
  readonly pods: number;
  readonly seconds: number;
  /** Thousandths of a core. */
  readonly cpuMilli: number;
  /** Wakings of its threads in a second. */
  readonly wakings: number;
  /** Cores in use by all else on the machine. */
  readonly elsewhereCores: number;
  /** At the end of the window. */
  readonly rssMib: number;
  /** Memory that belongs to no file. */
  readonly anonymousMib: number;
}

/** The bare calls to the runtime, without any agent. */
export interface Floor {
  readonly single: { readonly runningMs: readonly number[]; readonly stoppedMs: readonly number[] };
  readonly together: readonly FloorTogether[];
}

export interface FloorTogether {
  /** Pods in hand at any time. */
  readonly parallel: number;
  readonly runningMs: readonly number[];
  readonly stoppedMs: readonly number[];
}
