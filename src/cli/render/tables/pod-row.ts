// pure
import type { Pod } from "../../../api/generated/types.ts";
import { isRestartableInit, isTerminalPhase } from "../../../api/pod/pod.ts";
import { type PodSummary, summarizePod } from "../../../api/pod/pod-summary.ts";
import { humanDuration } from "../../../api/text/human-duration.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
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
  /** Why it is not as it should be, empty when it is. */
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
    why: isTerminalPhase(pod.status?.phase) || !allReady ? whyNot(pod) : "",
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

/** The first thing in the pod's status that explains why it is not ready. */
function whyNot(pod: Pod): string {
  const { status } = pod;
  if (status?.message) return status.message;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const { state, lastState, name } of all) {
    if (state?.waiting?.message) return state.waiting.message;
    const end = state?.terminated ?? (state?.waiting ? lastState?.terminated : undefined);
    if (end && end.exitCode !== 0) {
      const reason = end.message ? `: ${end.message}` : "";
      return `${name} ended with code ${end.exitCode}${reason}`;
    }
  }
  const unready = all.find(({ state, ready }) => state?.running && !ready);
  if (unready && isInitContainer(pod, unready.name)) return `init container ${unready.name} runs`;
  if (unready) {
    const probe = unready.started === false ? "startup" : "readiness";
    return `${unready.name} runs; its ${probe} probe has not succeeded`;
  }
  return "";
}

function isInitContainer(pod: Pod, name: string): boolean {
  const spec = pod.spec?.initContainers?.find((container) => container.name === name);
  return spec !== undefined && !isRestartableInit(spec);
}
