import type { Pod, PodStatus } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import type { PodView } from "../served-node.ts";
import { type PodShower, shownPod } from "../shown-pods.ts";

/** JSON of objects that are replaced when they change, never altered: made once for all readers. */
const statusText = derivedOnce((status: PodStatus) => JSON.stringify(status));
const ownHead = derivedOnce(({ status: _, ...pod }: Pod) =>
  JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod }),
);

/** The JSON of a shown pod in its parts: most of it stays the same from one change to the next. */
export interface PodText {
  /** What it is without its status, as an object. */
  readonly head: string;
  /** Empty where there is none. */
  readonly status: string;
  readonly blocked: string;
}

/** The parts of a pod as `shownPod` shows it. */
export function podText(record: PodView, node: PodShower, clock: Clock): PodText {
  const { status, blocked, ...rest } = shownPod(record, node, clock);
  // The time that a pod has left stands in its metadata.
  const isOwn = rest.metadata === record.pod.metadata;
  return {
    head: isOwn ? ownHead(record.pod) : JSON.stringify(rest),
    status: status === undefined ? "" : statusText(status),
    blocked: blocked === undefined ? "" : JSON.stringify(blocked),
  };
}

/** Whether a reader that has the one would learn nothing from the other. */
export function samePodText(a: PodText | undefined, b: PodText): boolean {
  return a?.head === b.head && a.status === b.status && a.blocked === b.blocked;
}

/** The pod as one JSON object. */
export function joinPodText({ head, status, blocked }: PodText): string {
  const members = [
    ...(status === "" ? [] : [`"status":${status}`]),
    ...(blocked === "" ? [] : [`"blocked":${blocked}`]),
  ];
  return members.length === 0 ? head : `${head.slice(0, -1)},${members.join(",")}}`;
}
