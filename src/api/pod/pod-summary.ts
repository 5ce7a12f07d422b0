// pure
import type { ContainerStatus, Pod } from "../generated/types.ts";
import { parseTimestamp } from "../text/timestamps.ts";
import { isRestartableInit, isTerminalPhase } from "./pod.ts";

/** One table row of a pod (printers.go printPod). */
export interface PodSummary {
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** When a container last ended that was started again, Unix milliseconds. */
  readonly lastRestartMs: number | undefined;
  /** The word for how it is: a phase, or the reason of what holds it up. */
  readonly reason: string;
}

/** Sums up containers and conditions as `kubectl get pods` shows them. */
export function summarizePod(pod: Pod): PodSummary {
  const init = summarizeInit(pod);
  const phase = pod.status?.reason ?? pod.status?.phase ?? "Unknown";
  const initialized = conditionOf(pod, "Initialized")?.status === "True";
  const regular = pod.status?.containerStatuses ?? [];
  const total = (pod.spec?.containers?.length ?? 0) + init.sidecars;
  let summary: PodSummary = { ...init, total, reason: init.reason ?? phase };
  if (init.reason === undefined || initialized) {
    const kept = { ...init.ofSidecars, ready: init.ready };
    summary = withRegular({ ...summary, ...kept, reason: phase }, regular, pod);
  }
  return pod.metadata?.deletionTimestamp !== undefined && !isTerminalPhase(pod.status?.phase)
    ? { ...summary, reason: "Terminating" }
    : summary;
}

interface InitSummary extends Omit<PodSummary, "reason" | "total"> {
  /** `Init:…` while init containers are not done. */
  readonly reason: string | undefined;
  readonly sidecars: number;
  readonly ofSidecars: Pick<PodSummary, "restarts" | "lastRestartMs">;
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

function withRegular(base: PodSummary, statuses: readonly ContainerStatus[], pod: Pod): PodSummary {
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
): Pick<PodSummary, "restarts" | "lastRestartMs"> {
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
