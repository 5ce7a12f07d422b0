import type { PodUid } from "../../api/observation.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { PodsView } from "../../pipeline/pods/pods.ts";
import type { NamedPods } from "./pod-watchers.ts";
import type { NamedPod } from "./served-pods.ts";

type PodRecord = ReturnType<PodsView["list"]>[number];

/** The pipeline's pods that a source names, as it names them, with their statuses. */
export function pipelinePods({
  pods,
  statuses,
}: {
  readonly pods: PodsView;
  readonly statuses: Pick<Pipeline["statuses"], "get" | "subscribe">;
}): NamedPods {
  const sourced = (record: PodRecord | undefined): readonly NamedPod[] =>
    record && isNamed(record)
      ? [{ pod: record.desired.pod, status: statuses.get(record.uid)?.status }]
      : [];
  return {
    list: () => pods.list().flatMap(sourced),
    get: (uid) => sourced(pods.get(uid as PodUid))[0],
    subscribe: (onChange) => {
      const stops = [
        pods.subscribe(({ uid }) => onChange(uid)),
        // Statuses also change without their pods, with the addresses of the node.
        statuses.subscribe((uid) => onChange(uid)),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

/** Whether a source names the pod now; what only runs, or is being taken away, no source names. */
function isNamed({ desired, life }: PodRecord): boolean {
  return desired.source !== "runtime" && !desired.removed && life.kind !== "released";
}
