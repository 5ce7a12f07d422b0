// pure
import type { FoundPod, PodUid } from "./observation.ts";
import type { ContainerProbeResult } from "./probe-result.ts";

/** In place of a container's name: what the volumes of the pod wait for. */
export const VOLUMES_PROGRESS = "#volumes";

/** Why the node ends a pod; reason and message are for the status. */
export interface EvictionCause {
  readonly reason: string;
  readonly message: string;
  /** Message of the condition DisruptionTarget, where the pod is not at fault. */
  readonly disruption?: string;
}

/** What modules report about pods; read by the pipeline alone. */
export type PodNews =
  /** What the runtime has of one pod; of one that it no longer has, an empty observation. */
  | { readonly kind: "found"; readonly found: FoundPod }
  /** The probe result of one attempt of a container; published only when it changes. */
  | (ContainerProbeResult & { readonly kind: "probed"; readonly uid: PodUid })
  /** What a container that is being made, or the volumes, wait for; `undefined` when they wait no more. */
  | {
      readonly kind: "progress";
      readonly uid: PodUid;
      readonly container: string;
      readonly message: string | undefined;
    }
  /** The health of the pod's devices has changed, or whether admission can grant them. */
  | { readonly kind: "devices"; readonly uid: PodUid; readonly what: "health" | "admission" }
  /** The node needs the pod's place. */
  | (EvictionCause & {
      readonly kind: "evicted";
      readonly uid: PodUid;
      /** What it gets to end; its own grace by default. */
      readonly graceSeconds?: number;
    })
  /** What has ended of the pod is to go, since the disk is short. */
  | { readonly kind: "clear"; readonly uid: PodUid };

/**
 * News of equal keys replace one another while nobody has read them yet: only the latest counts. Two observations
 * of a pod may overtake each other on their way, so both are read.
 */
export function newsKey(news: PodNews): string | undefined {
  switch (news.kind) {
    case "found":
      return undefined;
    case "probed":
      return `probed ${news.uid} ${news.container} ${news.probe}`;
    case "progress":
      return `progress ${news.uid} ${news.container}`;
    case "devices":
      return `devices ${news.uid} ${news.what}`;
    case "evicted":
      return `evicted ${news.uid}`;
    case "clear":
      return `clear ${news.uid}`;
    default:
      return news satisfies never;
  }
}
