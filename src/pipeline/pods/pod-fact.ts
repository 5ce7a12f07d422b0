// pure
import type { PodFact } from "../../api/pod-facts.ts";
import type { PodRecord } from "./record.ts";

/** What other modules see of the pod. */
export function factOf({ uid, pod, life, sync, observed }: PodRecord): PodFact {
  return { uid, pod, life: life.kind, busy: sync.freshness === "acting", observed };
}
