// pure
import type { Pod } from "../../api/generated/types.ts";
import { type PodSummary, summarizePod } from "../../api/pod/pod-summary.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import { problemText } from "../problem/pod-problem.ts";
import type { Style } from "../text.ts";

/** A pod in one line, in the words of `kubectl get pods`. */
export interface PodRow {
  readonly pod: Pod;
  readonly namespace: string;
  readonly name: string;
  /** `1/2`. */
  readonly ready: string;
  readonly status: string;
  readonly restarts: string;
  readonly age: string;
  readonly ip: string;
  readonly node: string;
  readonly style: Style | undefined;
  /** Present problem and its fix; empty when there is none. */
  readonly why: string;
}

/** The line of a pod at `now`, Unix milliseconds (printers.go printPod). */
export function podRow(pod: Pod, now: number): PodRow {
  const { namespace = "", name = "", creationTimestamp } = pod.metadata ?? {};
  const began = creationTimestamp ?? pod.status?.startTime;
  const beganAt = began === undefined ? undefined : parseTimestamp(began);
  const summary = summarizePod(pod);
  const restarts = summary.restarts === 0 ? "0" : restartText(summary, now);
  const allReady = summary.ready === summary.total;
  return {
    pod,
    namespace,
    name,
    ready: `${summary.ready}/${summary.total}`,
    status: summary.reason,
    restarts,
    age: beganAt === undefined ? "<unknown>" : humanDuration(now - beganAt),
    ip: pod.status?.podIP ?? "<none>",
    node: pod.spec?.nodeName ?? "<none>",
    style: styleOf(summary.reason, allReady),
    why: problemText(pod),
  };
}

function restartText({ restarts, lastRestartMs }: PodSummary, now: number): string {
  if (lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${humanDuration(now - lastRestartMs)} ago)`;
}

/** Statuses that need no attention. */
const CALM = new Set(["Running", "Completed", "Succeeded"]);
/** Statuses on the way to another. */
const PASSING = /^(Pending|ContainerCreating|PodInitializing|Terminating|NotReady|Init:\d+\/\d+)$/;

function styleOf(reason: string, allReady: boolean): Style | undefined {
  if (CALM.has(reason)) return reason === "Running" ? (allReady ? "green" : "yellow") : "dim";
  return PASSING.test(reason) ? "yellow" : "red";
}
