import type { ImageOutcome, ImageRequest } from "../../api/image-outcome.ts";
import type { FoundPod, PodUid } from "../../api/observation.ts";
import type { ActuatedPod, PodAllocation, ResizeVerdict } from "../../api/pod/allocation.ts";
import type { ContainerKind } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Decisions } from "../../api/ports/decisions.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import type { PresentImage } from "../../api/present-image.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { Tracer } from "../../kit/tracing/tracing.ts";
import type { FlightRecorder } from "./flight/flight-recorder.ts";
import type { PodAction, StopRequest } from "./plan/actions.ts";
import type { PodRecord } from "./record/record.ts";
import type { ActionOutcome } from "./record/signals.ts";

/** One attempt of a container to create. */
export interface CreateContainerOptions {
  readonly pod: IdentifiedPod;
  readonly sandboxId: string;
  readonly container: string;
  readonly containerKind: ContainerKind;
  readonly restartCount: number;
  /** How often all containers of the pod have been restarted. */
  readonly round: number;
  /** Addresses of the pod, primary first. */
  readonly podIps: readonly string[];
  readonly image: PresentImage;
  /** Id of the container whose process namespace is joined. */
  readonly targetId: string | undefined;
}

/** One attempt of a container that the runtime has. */
export interface ContainerAttempt {
  readonly pod: IdentifiedPod;
  readonly id: string;
  readonly container: string;
  readonly restartCount: number;
}

/** An attempt to be removed. */
interface RemovedAttempt extends ContainerAttempt {
  /** `with pod` when the pod's folders are removed next, and all of its files with them. */
  readonly files: "own" | "with pod";
}

/** Sandboxes and containers. Every call may throw `OutsideError`; `notFound` on stop and remove is success. */
interface PodRuntimePort {
  /** Asks the runtime for everything it has of the pod. One that cannot be read is reported later. */
  observe(uid: PodUid, signal: AbortSignal): Promise<FoundPod>;
  createSandbox(pod: IdentifiedPod, attempt: number, signal: AbortSignal): Promise<string>;
  /**
   * Makes the container and resolves with its id. A configuration that cannot be made throws
   * `ContainerConfigError`.
   */
  createAttempt(options: CreateContainerOptions, signal: AbortSignal): Promise<string>;
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  /** Removes the attempt, and its log where that does not go with the pod. */
  removeContainer(attempt: RemovedAttempt, signal: AbortSignal): Promise<void>;
  removeSandbox(pod: IdentifiedPod, id: string, signal: AbortSignal): Promise<void>;
}

/** The spec asks for something that cannot be turned into a container; the message is for the status. */
export class ContainerConfigError extends Error {
  override readonly name = "ContainerConfigError";
  /** When to try again, where that is known. */
  readonly retryInMs: number | undefined;
  /** Reason that the status shows while the container waits. */
  readonly reason: string;

  constructor(
    message: string,
    options: {
      readonly cause?: unknown;
      readonly retryInMs?: number;
      readonly reason?: string;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.retryInMs = options.retryInMs;
    this.reason = options.reason ?? "CreateContainerConfigError";
  }
}

/** Having an image before a container is made. */
interface PodImagePort {
  ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageOutcome>;
}

/** A container that was just started. */
interface StartedContainer {
  readonly name: string;
  readonly id: string;
  readonly sandboxId: string;
}

/** Hooks of containers; a failed hook throws. */
interface PodHookPort {
  postStart(pod: IdentifiedPod, started: StartedContainer, signal: AbortSignal): Promise<void>;
  /** Runs within `graceSeconds` at most and resolves with the seconds it took; never throws. */
  preStop(pod: IdentifiedPod, stop: StopRequest, signal: AbortSignal): Promise<number>;
}

/** Creates and removes the prerequisites of a pod; all idempotent. */
interface PodPrerequisitesPort {
  makeDirectories(pod: IdentifiedPod): Promise<void>;
  removeDirectories(pod: IdentifiedPod): Promise<void>;
  /** Resolves with whether it was missing. */
  createCgroup(pod: IdentifiedPod): Promise<boolean>;
  removeCgroup(pod: IdentifiedPod): Promise<void>;
  /** Thaws what a container has frozen: it could not be ended. */
  thawCgroup(pod: IdentifiedPod): Promise<void>;
  mountVolumes(pod: IdentifiedPod, signal: AbortSignal): Promise<void>;
  unmountVolumes(pod: IdentifiedPod, signal: AbortSignal): Promise<void>;
}

/** Cgroup and containers to update to the pod's allocation. */
export interface PodResizeRequest {
  readonly pod: IdentifiedPod;
  /** Resources that they have now. */
  readonly actuated: ActuatedPod;
  /** The sandbox that runs, where there is one. */
  readonly sandboxId: string | undefined;
  /** Containers that run and stay running. */
  readonly containers: readonly { readonly name: string; readonly id: string }[];
}

/** Allocations of pods, and their in-place resize. */
export interface PodResizePort {
  /** The pod with what it was given in a previous run of the agent, where it was. */
  asAllocated(pod: IdentifiedPod): IdentifiedPod;
  /** Whether the pod was given anything. */
  isAllocated(uid: PodUid): boolean;
  /** Resources that containers and cgroup of the pod have. */
  actuated(pod: IdentifiedPod): ActuatedPod;
  /** The pod was admitted with the resources it has. */
  admitted(pod: IdentifiedPod): void;
  /** The pod is gone for good. */
  forget(uid: PodUid): void;
  /** Judges what `candidate` asks for beside the pods that hold resources. */
  judge(candidate: PodRecord, others: readonly PodRecord[]): ResizeVerdict;
  /** Those that wait in the order in which they are asked. */
  order(waiting: readonly PodRecord[]): readonly PodRecord[];
  /** Gives the pod these resources, for good once it resolves. Throws `OutsideError`. */
  allocate(pod: IdentifiedPod, allocation: PodAllocation): Promise<void>;
  /** All that the pod needs is there, and its containers come next: of a new one it is noted what it has. */
  prepared(pod: IdentifiedPod): void;
  /** An attempt of the container is about to be made with what the pod was given. Never throws. */
  starting(pod: IdentifiedPod, container: string): Promise<void>;
  /** Brings group and containers to what the pod was given; a failure is safe to be tried again. */
  apply(
    request: PodResizeRequest,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "done" } | { readonly kind: "failed"; readonly message: string }>;
}

/** Devices of pods. */
interface PodDevicePort {
  /** Grants what the containers of the pod ask for, all of it or nothing; asked again it goes on where it was. */
  grant(pod: IdentifiedPod): Promise<ResourceGrant>;
  /** Grants a pod that runs what it asks for by now, or leaves it what it had. */
  resize(before: IdentifiedPod, pod: IdentifiedPod): Promise<ResourceGrant>;
}

/** Resource claims of pods. Both wait for drivers as long as it makes sense, and throw then. */
interface PodClaimPort {
  /** Prepares all claims of the pod; those that are prepared stay as they are. */
  prepare(pod: IdentifiedPod, signal: AbortSignal): Promise<void>;
  /** Takes back what is prepared for the pod and for no other one. */
  unprepare(pod: IdentifiedPod, signal: AbortSignal): Promise<void>;
}

/** How often the memory limit of a whole pod was reached since its group was made. */
export interface LimitHits {
  readonly count: number;
  /** Whether each was an OOM kill (cgroup v2); else memory may have been reclaimed instead. */
  readonly exact: boolean;
}

/** Port for the kernel's memory counters. */
export interface PodMemoryPort {
  /** `undefined` where it cannot be read. Never throws, never waits. */
  limitHits(pod: IdentifiedPod): LimitHits | undefined;
}

/** Why a deferred resize is retried, in the Go kubelet's words (allocation_manager.go). */
export type ResizeTrigger = "periodic_retry" | "pod_updated" | "pods_removed" | "pod_resized";

/** One action on a pod that is over. */
export interface ActedPod {
  /** As it was when the action was planned. */
  readonly record: PodRecord;
  readonly action: PodAction;
  readonly outcome: ActionOutcome;
  readonly tookMs: number;
}

/** Measuring what is done for pods. Nothing here waits or throws. */
export interface PodMeasurePort {
  /** An action ended. */
  acted(acted: ActedPod): void;
  /** A run of actions ended; `record` is the pod as it was when they were planned. */
  worked(record: PodRecord, tookMs: number): void;
  /** A pod was found in the runtime that no source names. */
  orphaned(): void;
  /** A source names a pod again, under the same UID, while it is being removed. */
  recreated(record: PodRecord): void;
  /** The source asks for other resources than the pod was given. */
  resizeRequested(record: PodRecord, allocation: PodAllocation): void;
  /** By this rule the resources can never be given. */
  resizeRefused(rule: string): void;
  /** A resize that had to wait was accepted. */
  resizeAccepted(trigger: ResizeTrigger): void;
}

/** Ports of the pods module to the others. Declared here, implemented in `pipeline/ports/`. */
export interface PodPorts {
  readonly prerequisites: PodPrerequisitesPort;
  readonly runtime: PodRuntimePort;
  readonly images: PodImagePort;
  readonly devices: PodDevicePort;
  readonly claims: PodClaimPort;
  readonly hooks: PodHookPort;
  readonly events: PodEvents;
  readonly resizes: PodResizePort;
  readonly decisions: Decisions;
  readonly memory: PodMemoryPort;
  readonly measures: PodMeasurePort;
}

export interface PodDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  readonly ports: PodPorts;
}

/** The same, for those whose steps are recorded. */
export interface RecordedPodDeps extends PodDeps {
  /** Keeps the last steps of all pods. */
  readonly flight: FlightRecorder;
}
