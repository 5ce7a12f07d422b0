// pure
import type { PodFact } from "../../../api/pod-facts.ts";
import type { PodRecord } from "./record.ts";

/** Facts about the pod for other modules. While something that takes its time holds it up, as a pull does, it is not busy. */
export function factOf(record: PodRecord): PodFact {
  const { uid, pod, life, sync, observed } = record;
  const busy = sync.freshness === "acting" && !isHeldUp(record);
  return { uid, pod, life: life.kind, busy, observed };
}

/** Whether what is being done for the pod waits for something that takes its time. */
export function isHeldUp({ lastPlan }: PodRecord): boolean {
  return Object.keys(lastPlan.progress).length > 0;
}
