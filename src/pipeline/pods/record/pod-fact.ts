// pure
import type { PodFact } from "../../../api/pod-facts.ts";
import type { PodRecord } from "./record.ts";

/** Facts about the pod for other modules. */
export function factOf({ uid, pod, life, sync, observed }: PodRecord): PodFact {
  return { uid, pod, life: life.kind, busy: sync.freshness === "acting", observed };
}
