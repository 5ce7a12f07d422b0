// pure
import type { Pod, PodStatus } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";

/** A pod as its source has it, with the status that the agent has derived, where it has one. */
export interface NamedPod {
  readonly pod: IdentifiedPod;
  readonly status: PodStatus | undefined;
}

/** The pod with its status as programs of the node get it. */
export function servedPod({ pod, status }: NamedPod): Pod {
  return { ...pod, status: status ?? unverified(pod.status ?? {}) };
}

/** What is left to say of a pod that is gone. */
export function goneServedPod({ metadata: { name, namespace, uid } }: IdentifiedPod): Pod {
  return { metadata: { name, namespace, uid } };
}

/** The status that the API server has of a pod that was not observed yet: it is not known to be ready. */
function unverified(status: PodStatus): PodStatus {
  const { phase = "", conditions } = status;
  return {
    ...status,
    phase: phase === "" ? "Pending" : phase,
    ...(conditions && {
      conditions: conditions.map((condition) =>
        condition.type === "Ready" && condition.status === "True"
          ? {
              ...condition,
              status: "False",
              reason: "ContainersNotReady",
              message: "Kubelet is initializing pod containers",
            }
          : condition,
      ),
    }),
  };
}
