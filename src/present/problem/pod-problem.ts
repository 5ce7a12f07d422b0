// pure
import type { ContainerStatus, Pod } from "../../api/generated/types.ts";
import { isRestartableInit, isTerminalPhase } from "../../api/pod/pod.ts";
import { summarizePod } from "../../api/pod/pod-summary.ts";
import type { ShownPod } from "../../api/pod/shown-pod.ts";
import { oneLine } from "../text.ts";
import { fixFor } from "./fixes.ts";

/** A problem of a pod. */
interface PodProblem {
  /** The status' word for it, e.g. `ErrImagePull`. */
  readonly reason: string;
  readonly message: string;
  readonly container?: string;
}

/** Problems with the pod now and what can be done about it, in one line; empty when it is as it should be. */
export function problemText(pod: Pod): string {
  const problem = problemOf(pod);
  if (!problem) return "";
  const { namespace = "", name = "" } = pod.metadata ?? {};
  const { reason, message, container } = problem;
  const fix = fixFor(reason, message, { namespace, name, container });
  return oneLine(fix === undefined ? message : `${message.replace(/\.\s*$/, "")}; fix: ${fix}`);
}

/** The first thing that explains why the pod is not as it should be; `undefined` when it is. */
export function problemOf(pod: ShownPod): PodProblem | undefined {
  const { status, blocked } = pod;
  const { ready, total } = summarizePod(pod);
  if (blocked) return blocked;
  if (status?.message) return { reason: status.reason ?? "", message: status.message };
  if (isTerminalPhase(status?.phase) ? status?.phase === "Succeeded" : ready === total)
    return gateProblem(pod);
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const each of all) {
    const problem = containerProblem(each);
    if (problem) return problem;
  }
  return unscheduled(pod) ?? unready(pod, all) ?? gateProblem(pod);
}

function containerProblem({ state, lastState, name }: ContainerStatus): PodProblem | undefined {
  const { waiting, terminated } = state ?? {};
  const last = lastState?.terminated;
  if (waiting?.reason === "CrashLoopBackOff" && last) {
    const [, pause] = /^back-off (\S+)/.exec(waiting.message ?? "") ?? [];
    const wait = pause === undefined ? "" : `, restarted after a back-off of ${pause}`;
    const problem = endProblem("CrashLoopBackOff", name, last);
    return { ...problem, message: `${problem.message}${wait}` };
  }
  if (waiting?.message)
    return { reason: waiting.reason ?? "", message: waiting.message, container: name };
  if (terminated && terminated.exitCode !== 0) return endProblem("Exited", name, terminated);
  return waiting && last && last.exitCode !== 0
    ? endProblem("CrashLoopBackOff", name, last)
    : undefined;
}

interface End {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
}

function endProblem(
  standing: "CrashLoopBackOff" | "Exited",
  container: string,
  { exitCode, reason, message }: End,
): PodProblem {
  if (reason === "OOMKilled") return { reason, message: `${container} was OOM-killed`, container };
  const reported = message ? `: ${message}` : "";
  if (reason === "StartError")
    return { reason, message: `${container} failed to start${reported}`, container };
  return {
    reason: standing,
    message: `${container} exited with code ${exitCode}${reported}`,
    container,
  };
}

function unscheduled({ status }: Pod): PodProblem | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status !== "False" || !condition.message) return undefined;
  return { reason: condition.reason ?? "Unschedulable", message: condition.message };
}

function unready(pod: Pod, all: readonly ContainerStatus[]): PodProblem | undefined {
  const found = all.find(({ state, ready }) => state?.running && !ready);
  if (!found) return undefined;
  const { name, started } = found;
  if (isInitContainer(pod, name))
    return { reason: "PodInitializing", message: `init container ${name} is running` };
  const probe = started === false ? "startup" : "readiness";
  const message = `${name} is running, but its ${probe} probe has not succeeded`;
  return { reason: "Unready", message, container: name };
}

function gateProblem({ status }: Pod): PodProblem | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  if (condition?.status !== "False" || condition.reason !== "ReadinessGatesNotReady")
    return undefined;
  return { reason: condition.reason, message: condition.message ?? "" };
}

function isInitContainer(pod: Pod, name: string): boolean {
  const spec = pod.spec?.initContainers?.find((container) => container.name === name);
  return spec !== undefined && !isRestartableInit(spec);
}
