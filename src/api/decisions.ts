// pure
import type { JsonValue } from "./generated/types.ts";

/**
 * Every decision the agent takes, with the inputs that its rule read. A planner can only return a
 * decision through `decided`, whose type demands rule and inputs for the kind: a new kind of decision
 * is a new row here, and without it nothing compiles.
 */
export interface DecisionInputs {
  readonly admit: { readonly rules: number };
  readonly reject: { readonly reason: string; readonly message: string };
  readonly defer: { readonly reason: string; readonly message: string };
  /** Resources that were asked for in place were given; requests as `cpu=1 memory=1Gi`. */
  readonly allocateResize: { readonly generation: number; readonly requests: string };
  readonly deferResize: { readonly generation: number; readonly message: string };
  readonly refuseResize: { readonly generation: number; readonly message: string };
  /** Given resources are carried out, without a restart for these containers. */
  readonly resizePod: { readonly containers: readonly string[] };
  readonly adopt: { readonly sandboxId: string; readonly containers: number };
  /** Volumes are set up before the sandbox is made; `volumes` are their names in the pod's spec. */
  readonly mountVolumes: { readonly volumes: readonly string[] };
  /** Drivers make the pod's resource claims ready before its sandbox is made, and unprepare them when it has ended. */
  readonly prepareClaims: { readonly claims: readonly string[] };
  readonly unprepareClaims: { readonly claims: readonly string[] };
  /** Folders or the cgroup of the pod are made; kept only where that fails. */
  readonly preparePod: { readonly part: "directories" | "cgroup" };
  /** No sandbox is made as long as the runtime cannot give it a network. */
  readonly delaySandbox: { readonly message: string };
  readonly replace: { readonly predecessorUid: string };
  readonly startSandbox: { readonly attempt: number; readonly previous: string };
  readonly startContainer: {
    readonly container: string;
    readonly restartCount: number;
    readonly lastExitCode?: number;
    readonly policy: string;
  };
  readonly delayRestart: {
    readonly container: string;
    readonly delayMs: number;
    readonly leftMs: number;
  };
  readonly leaveStopped: {
    readonly container: string;
    readonly policy: string;
    readonly exitCode: number;
  };
  readonly killContainer: {
    readonly container: string;
    readonly graceSeconds: number;
    readonly detail: string;
  };
  /** No container is to run again. */
  readonly completePod: { readonly phase: string };
  readonly killPod: { readonly graceSeconds: number; readonly reason: string };
  /**
   * A container ended by itself or was stopped, as the runtime reports it. `limit` is the memory limit that was reached,
   * of the container or of the whole pod; without it an OOM kill is for a limit above the pod or the machine's memory.
   */
  readonly containerExited: {
    readonly container: string;
    /** Of the attempt that ended. */
    readonly restartCount: number;
    readonly exitCode: number;
    readonly reason: string;
    readonly message?: string;
    readonly limit?: string;
    readonly limitOf?: "container" | "pod" | "container or pod";
  };
  readonly release: { readonly cause: string };
  /** Nothing is started, ended or removed while the runtime's word on the pod cannot be read. */
  readonly holdPod: { readonly problem: string };
  readonly resumePod: Readonly<Record<string, never>>;
  readonly grantDevices: {
    readonly container: string;
    readonly resource: string;
    readonly devices: readonly string[];
  };
  /** A resource claim of the pod is prepared; devices as `driver/pool/device`. */
  readonly grantClaim: { readonly claim: string; readonly devices: readonly string[] };
  /**
   * CPUs of a container for itself, as a list; `nodes` are the NUMA nodes that the merged hints named. Where the pod has CPUs as
   * a whole, `ofPod` are all of these, and other containers of the pod may share the container's.
   */
  readonly grantCpus: {
    readonly container: string;
    readonly cpus: string;
    readonly ofPod?: string;
    readonly shares?: boolean;
    readonly nodes?: string;
  };
  readonly releaseCpus: { readonly cpus: string };
  /** Devices as `resource id`. */
  readonly releaseDevices: { readonly devices: readonly string[] };
  /**
   * A pod goes because the node is short of a resource; amounts as the Go kubelet writes them. `next` are the pods that would
   * have gone after it, `savedBy…` what would have put one of them in its place.
   */
  readonly evictPod: {
    readonly signal: string;
    readonly resource: string;
    readonly kind: "hard" | "soft";
    readonly threshold: string;
    readonly available: string;
    readonly graceSeconds: number;
    readonly pods: number;
    readonly priority: number;
    readonly requested: string;
    readonly used?: string;
    readonly passedOver: readonly string[];
    readonly next: readonly string[];
    readonly savedByRequest?: string;
    readonly savedByPriority?: number;
  };
  /** A pod goes because it takes more of the disk than it may; the rule is the limit, `what` the volume or container. */
  readonly exceedStorage: {
    readonly what: string;
    readonly usedBytes: number;
    readonly limitBytes: number;
    readonly graceSeconds: number;
  };
  /** The agent was started; `version` is nodelet's, absent where a program embeds it. */
  readonly startAgent: { readonly version?: string };
  /** The agent was stopped, and left containers running. */
  readonly stopAgent: { readonly reason: string };
  /**
   * The agent ended without having been stopped, as systemd has it: result (`exit-code`, `signal`, `watchdog`,
   * `oom-kill`, …), code (`exited`, `killed`, `dumped`), exit status or name of the signal.
   */
  readonly agentExited: {
    readonly result: string;
    readonly code: string;
    readonly status: string;
  };
  /** `nodelet stop` has stopped pods, agent and runtime, and kept their state; `left` is what it could not stop. */
  readonly stopNode: { readonly pods: number; readonly left: readonly string[] };
  /** The machine shuts down, and pods are ended; `groups` as `<priority>: <pods> in <seconds>s`, in their order. */
  readonly startShutdown: {
    readonly pods: number;
    readonly totalSeconds: number;
    readonly groups: readonly string[];
  };
  /** A pod's turn in a shutdown of the node has come; `groupPriority` is that of its period. */
  readonly shutDownPod: {
    readonly graceSeconds: number;
    readonly priority: number;
    readonly groupPriority: number;
    readonly periodSeconds: number;
  };
  /** How the pods of one period ended: `<namespace/name> after <seconds>s`, and by name those that had not yet. */
  readonly endShutdownGroup: {
    readonly priority: number;
    readonly periodSeconds: number;
    readonly tookMs: number;
    readonly ended: readonly string[];
    readonly cutOff: readonly string[];
  };
  /**
   * The rule is `all have ended`, `time is over`, `cancelled`, or `not finished` of a previous run of the agent, which
   * knows nothing but when it began.
   */
  readonly endShutdown: {
    readonly tookMs?: number;
    readonly ended?: number;
    readonly cutOff?: readonly string[];
    readonly startedAtMs?: number;
  };
  /** Node-level resources reclaimed before evicting a pod; the rule is `enough` or `not enough`. */
  readonly reclaimNode: {
    readonly signal: string;
    readonly resource: string;
    readonly steps: readonly string[];
    readonly threshold: string;
    readonly before: string;
    readonly after?: string;
  };
  /** The rule is `age` or `space`; times are Unix milliseconds, a last use of 0 is none. */
  readonly collectImage: {
    readonly goal: string;
    readonly order: string;
    readonly sizeBytes: number;
    readonly firstDetectedMs: number;
    readonly lastUsedMs: number;
    readonly idleMs: number;
    readonly usagePercent?: number;
    readonly toFreeBytes?: number;
    readonly freedBeforeBytes: number;
  };
}

/** Name of a kind of decision. */
export type DecisionKind = keyof DecisionInputs;

/** A decision: its kind, the name of the rule and the rule's inputs. */
export type Decision = {
  readonly [K in DecisionKind]: {
    readonly kind: K;
    /** Short name of the rule in the words of the code that holds it, e.g. `container exited`. */
    readonly rule: string;
    readonly inputs: DecisionInputs[K];
  };
}[DecisionKind];

/** A verdict that cannot exist without its reason. */
export function makeDecision<K extends DecisionKind>(
  kind: K,
  rule: string,
  inputs: DecisionInputs[K],
): Decision {
  return { kind, rule, inputs } as Decision;
}

/** Outcome of a decision that took time or could fail. */
export type DecisionOutcome =
  /** Still going on; `message` says what it waits for, where that is known. */
  | { readonly kind: "pending"; readonly message?: string }
  | { readonly kind: "done" }
  /** `reason` is the status' word, `message` the runtime's; `times` counts attempts in a row that failed alike. */
  | {
      readonly kind: "failed";
      readonly reason: string;
      readonly message: string;
      readonly times: number;
    }
  /** Given up on the way, because something else was decided meanwhile. */
  | { readonly kind: "abandoned"; readonly message: string }
  /** The agent ended before it knew. */
  | { readonly kind: "unknown" };

/** An outcome as it was last reported. */
export type RecordedOutcome = DecisionOutcome & {
  /** When it was reported, Unix milliseconds. */
  readonly atMs: number;
};

/** Whether decisions of this kind have an outcome. Of the others the record says all there is. */
export function hasOutcome(kind: DecisionKind): boolean {
  return WITH_OUTCOME.has(kind);
}

const WITH_OUTCOME: ReadonlySet<DecisionKind> = new Set([
  "preparePod",
  "mountVolumes",
  "prepareClaims",
  "unprepareClaims",
  "startSandbox",
  "startContainer",
  "killContainer",
  "resizePod",
] satisfies DecisionKind[]);

/** A decision as the journal keeps it. */
export interface DecisionRecord {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Rises by one with every decision, also across restarts. */
  readonly sequence: number;
  /** Object of a decision: a pod (`namespace/name`, uid), or the node. */
  readonly subject: {
    readonly kind: "pod" | "node" | "image";
    readonly name: string;
    readonly uid?: string;
  };
  readonly kind: DecisionKind;
  readonly rule: string;
  readonly inputs: Readonly<Record<string, JsonValue>>;
  /** Absent where the kind has none, and in what agents before 0.2 have kept. */
  readonly outcome?: RecordedOutcome;
}
