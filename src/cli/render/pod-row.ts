// pure
import type { ContainerStatus, Pod } from "../../api/generated/types.ts";
import { isRestartableInit, isTerminalPhase } from "../../api/pod.ts";
import { parseTimestamp } from "../../api/timestamps.ts";
import { humanDuration } from "./amounts.ts";
import type { Style } from "./text.ts";

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
  const summary = summarize(pod);
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

interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
  readonly reason: string;
}

function restartText({ restarts, lastRestartMs }: Summary, now: number): string {
  if (lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${humanDuration(now - lastRestartMs)} ago)`;
}

function summarize(pod: Pod): Summary {
  const init = summarizeInit(pod);
  const phase = pod.status?.reason ?? pod.status?.phase ?? "Unknown";
  const initialized = conditionOf(pod, "Initialized")?.status === "True";
  const regular = pod.status?.containerStatuses ?? [];
  const total = (pod.spec?.containers?.length ?? 0) + init.sidecars;
  let summary: Summary = { ...init, total, reason: init.reason ?? phase };
  if (init.reason === undefined || initialized) {
    const kept = { ...init.ofSidecars, ready: init.ready };
    summary = withRegular({ ...summary, ...kept, reason: phase }, regular, pod);
  }
  return pod.metadata?.deletionTimestamp !== undefined && !isTerminalPhase(pod.status?.phase)
    ? { ...summary, reason: "Terminating" }
    : summary;
}

interface InitSummary extends Omit<Summary, "reason" | "total"> {
  /** `Init:…` while init containers are not done. */
  readonly reason: string | undefined;
  readonly sidecars: number;
  readonly ofSidecars: Pick<Summary, "restarts" | "lastRestartMs">;
}

function summarizeInit(pod: Pod): InitSummary {
  const specs = pod.spec?.initContainers ?? [];
  const sidecarNames = new Set(specs.filter(isRestartableInit).map(({ name }) => name));
  const statuses = pod.status?.initContainerStatuses ?? [];
  let ready = 0;
  let reason: string | undefined;
  for (const [i, status] of statuses.entries()) {
    const sidecar = sidecarNames.has(status.name);
    if (status.state?.terminated?.exitCode === 0) continue;
    if (sidecar && status.started === true) {
      if (status.ready) ready += 1;
      continue;
    }
    reason = initReason(status, i, specs.length);
    break;
  }
  const sidecars = statuses.filter(({ name }) => sidecarNames.has(name));
  return {
    ready,
    reason,
    sidecars: sidecarNames.size,
    ...restartsOf(statuses),
    ofSidecars: restartsOf(sidecars),
  };
}

function initReason(status: ContainerStatus, index: number, total: number): string {
  const { terminated, waiting } = status.state ?? {};
  if (terminated) return `Init:${endReason(terminated)}`;
  if (waiting?.reason !== undefined && waiting.reason !== "PodInitializing")
    return `Init:${waiting.reason}`;
  return `Init:${index}/${total}`;
}

function withRegular(base: Summary, statuses: readonly ContainerStatus[], pod: Pod): Summary {
  const own = restartsOf(statuses);
  let { ready, reason } = base;
  let running = false;
  for (const { state, ready: isReady } of statuses.toReversed()) {
    if (state?.waiting?.reason) reason = state.waiting.reason;
    else if (state?.terminated) reason = endReason(state.terminated);
    else if (state?.running && isReady) {
      running = true;
      ready += 1;
    }
  }
  if (reason === "Completed" && running)
    reason = conditionOf(pod, "Ready")?.status === "True" ? "Running" : "NotReady";
  return {
    ...base,
    ready,
    reason,
    restarts: base.restarts + own.restarts,
    lastRestartMs: latest(base.lastRestartMs, own.lastRestartMs),
  };
}

function endReason(end: { reason?: string; signal?: number; exitCode: number }): string {
  if (end.reason) return end.reason;
  return end.signal ? `Signal:${end.signal}` : `ExitCode:${end.exitCode}`;
}

function restartsOf(
  statuses: readonly ContainerStatus[],
): Pick<Summary, "restarts" | "lastRestartMs"> {
  let restarts = 0;
  let lastRestartMs: number | undefined;
  for (const { restartCount, lastState } of statuses) {
    restarts += restartCount;
    const ended = lastState?.terminated?.finishedAt;
    if (ended !== undefined) lastRestartMs = latest(lastRestartMs, parseTimestamp(ended));
  }
  return { restarts, lastRestartMs };
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

function conditionOf(pod: Pod, type: string) {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

/** Statuses that nobody has to look after. */
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
      const said = end.message ? `: ${end.message}` : "";
      return `${name} ended with code ${end.exitCode}${said}`;
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
