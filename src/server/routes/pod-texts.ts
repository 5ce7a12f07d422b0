import type { Clock } from "../../kit/clock.ts";
import type { PodView } from "../served-node.ts";
import { type PodShower, shownPod } from "./shown-pods.ts";

/**
 * JSON of objects that are replaced when they change, never altered: made once for all readers, and gone with the
 * object.
 */
const TEXTS = new WeakMap<object, string>();

function textOf(value: object, toText: () => string): string {
  const known = TEXTS.get(value);
  if (known !== undefined) return known;
  const text = toText();
  TEXTS.set(value, text);
  return text;
}

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
  const head = () => JSON.stringify(rest);
  // The time that a pod has left stands in its metadata.
  const isOwn = rest.metadata === record.pod.metadata;
  return {
    head: isOwn ? textOf(record.pod, head) : head(),
    status: status === undefined ? "" : textOf(status, () => JSON.stringify(status)),
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
