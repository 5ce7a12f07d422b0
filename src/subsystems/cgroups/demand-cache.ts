import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { readDemand } from "./plan/demand.ts";

/** Requests and limits of the pod. `UsageError` on a value that is not a quantity. */
export const podDemand = derivedOnce((pod: IdentifiedPod) => readDemand(pod, pod.metadata.uid));
