// pure
import type { MonotonicMs, WallMs } from "../kit/clock.ts";
import type { IdentifiedPod, PodUid } from "./pod-identity.ts";

export type { PodUid } from "./pod-identity.ts";

/** The last observed state of a sandbox. */
export interface ObservedSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: WallMs;
  /** Addresses of the pod, primary first; empty for host network. */
  readonly ips: readonly string[];
  readonly hostNetwork: boolean;
  /**
   * The runtime has taken back what it had set up around it: address, network namespace, mounts. A sandbox that
   * died by itself keeps all of that until it is stopped.
   */
  readonly stopped: boolean;
}

/** The four states CRI knows; `unknown` means the runtime lost track of the process. */
export type ContainerRuntimeState = "created" | "running" | "exited" | "unknown";

/** A Linux user as the runtime resolved it. */
interface ObservedUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

/** The last observed state of one attempt of a container. */
export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly state: ContainerRuntimeState;
  readonly restartCount: number;
  /** Annotation `io.kubernetes.container.hash`; empty when another tool made the container. */
  readonly hash: string;
  /** The image as the spec of that attempt named it, as far as the runtime has kept that. */
  readonly image: string;
  /** Other names that the image had when the attempt was first seen; a runtime may show any of them. */
  readonly imageNames?: readonly string[];
  readonly imageRef: string;
  readonly imageId: string;
  readonly createdAtMs: WallMs;
  readonly startedAtMs: WallMs | undefined;
  readonly finishedAtMs: WallMs | undefined;
  readonly exitCode: number;
  /** The runtime's word for the end: `Completed`, `Error`, `OOMKilled`… */
  readonly reason: string;
  /** Termination message, already cut to its limits. */
  readonly message: string;
  /** User of its first process, where the runtime reports it. */
  readonly user?: ObservedUser;
  /** Note of the devices that the container holds, as it was written when it was made. */
  readonly devices?: string;
  /** How often all containers of the pod had been restarted when it was made; absent for never. */
  readonly round?: number;
  /** All containers of the pod are to be restarted since: it counts no more. Set by the pods module. */
  readonly outdated?: true;
  /** It was stopped to be started again, however it ends. Set by the pods module. */
  readonly replaced?: true;
  /** Its stop signal, where the runtime reports it: `SIGQUIT`. */
  readonly stopSignal?: string;
}

/** Everything the runtime has of one pod, newest first in both lists. */
export interface Observation {
  /** Taken before the runtime was asked, so that what ended earlier is surely in it. */
  readonly asOf: MonotonicMs;
  readonly sandboxes: readonly ObservedSandbox[];
  readonly containers: readonly ObservedContainer[];
}

/** A pod as the runtime has it, whether a source has it or not. */
export interface ObservedPod {
  readonly kind: "observed";
  readonly uid: PodUid;
  /** The pod as labels and annotations describe it: enough to end it properly. */
  readonly describe: () => IdentifiedPod;
  readonly observed: Observation;
}

/** A pod that the runtime has, and of which at least one sandbox or container could not be read. */
export interface UnobservedPod {
  readonly kind: "unobserved";
  readonly uid: PodUid;
  readonly describe: () => IdentifiedPod;
  /** When the runtime was asked. */
  readonly asOf: MonotonicMs;
  /** The error, once it has lasted; `undefined` while it may be transient. */
  readonly problem: string | undefined;
}

/** Outcome of observing one pod. */
export type FoundPod = ObservedPod | UnobservedPod;
