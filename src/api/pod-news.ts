// pure
import type { FoundPod, PodUid } from "./observation.ts";
import type { ContainerProbeResult } from "./probe-result.ts";

/** In place of a container's name: what the volumes of the pod wait for. */
export const VOLUMES_PROGRESS = "#volumes";

/** In place of a container's name: what the resource claims of the pod wait for. */
export const CLAIMS_PROGRESS = "#claims";

/** Why the node ends a pod; reason and message are for the status. */
export interface EvictionCause {
  readonly reason: string;
  readonly message: string;
  /** Message of the condition DisruptionTarget, where the pod is not at fault. */
  readonly disruption?: string;
  /**
   * A pod of the API of which all containers exit with 0 has then Succeeded; Failed, with reason and message, is only one
   * with another exit code. Without it the pod has Failed in any case.
   */
  readonly byExitCodes?: true;
}

/** Reports of modules about pods; read by the pipeline alone. */
export type PodNews =
  /** Observation of one pod; empty once the runtime has nothing of it. */
  | { readonly kind: "found"; readonly found: FoundPod }
  /** The probe result of one attempt of a container; published only when it changes. */
  | (ContainerProbeResult & { readonly kind: "probed"; readonly uid: PodUid })
  /** Message about what a container being created, or volumes, wait for; `undefined` when the wait is over. */
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
      /** Grace period; the pod's own by default. */
      readonly graceSeconds?: number;
    })
  /** Ended containers of the pod are to be removed, since the disk is short. */
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
