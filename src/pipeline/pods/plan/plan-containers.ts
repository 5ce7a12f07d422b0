// pure

import { makeDecision } from "../../../api/decisions.ts";
import type { Container, Probe } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import { containerHash } from "../../../api/pod/container-hash.ts";
import { graceSecondsOf } from "../../../api/pod/pod.ts";
import { formatDuration } from "../../../api/text/duration.ts";
import { isSameImage } from "../../../api/text/image-reference.ts";
import { after } from "../../../kit/instant.ts";
import type { PodRecord } from "../record/record.ts";
import { restartsAll } from "../record/rounds.ts";
import type { ContainerStanding, PodStandings } from "../record/standing.ts";
import { removalOf, type StopRequest } from "./actions.ts";
import type { PlanParts } from "./plan-draft.ts";
import { RESIZE_RESTART } from "./plan-resize.ts";
import { restartBackoff } from "./restart-backoff.ts";

/** Regular containers: start what is missing, restart what ended, replace what changed or is sick. */
export function planContainers({ regular }: PodStandings, parts: PlanParts): void {
  for (const standing of regular) planContainer(standing, parts);
}

/** One container that is to run; `init` containers come here too while it is their turn. */
export function planContainer(standing: ContainerStanding, parts: PlanParts): void {
  const { sandbox, draft } = parts;
  const turn: ContainerPlanning = { standing, parts };
  const { latest } = standing;
  if (!latest) {
    startMissing(turn);
    return;
  }
  switch (latest.state) {
    case "running": {
      if (sandbox.kind !== "use" || !standing.here) {
        // It runs in a sandbox that is being replaced: the stop is planned there.
        if (sandbox.kind === "create") start(turn, latest, "sandbox is new");
        return;
      }
      const fault = containerFault(standing, latest);
      if (draft.restarting.has(latest.name)) start(turn, latest, RESIZE_RESTART);
      else if (fault) replace(turn, latest, fault);
      return;
    }
    case "unknown":
      replace(turn, latest, {
        rule: "state unknown",
        message: `${kindOf(standing)} is in "unknown" state, try killing it before restart`,
        again: comesBack(standing),
        probe: undefined,
      });
      return;
    case "created":
      // The runtime made it but could not start it; it blocks the next attempt.
      draft.actions.push(removalOf(latest));
      start(turn, latest, "was created but never started");
      return;
    case "exited":
      restart(turn, latest);
      return;
    default:
      latest.state satisfies never;
  }
}

/** Starts a container without a usable attempt: none was created, it is gone, or all containers restart. */
function startMissing(turn: ContainerPlanning): void {
  const { standing, parts } = turn;
  const [before] = standing.attempts;
  const isLost = !before && standing.end !== undefined;
  if (isLost && ruleToRestart(turn) === undefined) return;
  if (before?.state === "created") parts.draft.actions.push(removalOf(before));
  const rule = isLost ? "is gone from the runtime" : "never started";
  start(turn, before, before ? "all containers are restarted" : rule);
}

/** One container in one planning. */
interface ContainerPlanning {
  readonly standing: ContainerStanding;
  readonly parts: PlanParts;
}

interface Fault {
  readonly rule: string;
  /** Text of the Killing event. */
  readonly message: string;
  /** Whether it is started again, however it ends. */
  readonly again: boolean;
  readonly probe: Probe | undefined;
}

/** Why a running container cannot be kept; `undefined` when it can. */
function containerFault(
  standing: ContainerStanding,
  running: ObservedContainer,
): Fault | undefined {
  const { container, kind: containerKind, verdicts } = standing;
  const killMessage = (what: string, again: boolean) => {
    // The Go kubelet adds this for regular containers only.
    const suffix = again && containerKind === "regular" ? ", will be restarted" : "";
    return `${kindOf(standing)} ${container.name} ${what}${suffix}`;
  };
  // A plain init container finishes with what it began with, as with the Go kubelet; its next attempt is of the new image.
  if (containerKind !== "init" && definitionChanged(container, running)) {
    const message = killMessage("definition changed", true);
    return { rule: "definition changed", message, again: true, probe: undefined };
  }
  const again = comesBack(standing);
  for (const kind of ["liveness", "startup"] as const) {
    if (verdicts?.[kind] !== "failure") continue;
    const message = killMessage(`failed ${kind} probe`, again);
    return { rule: `${kind} probe failed`, message, again, probe: container[`${kind}Probe`] };
  }
  return undefined;
}

/** Whether what is stopped for its own fault is started again. */
const comesBack = ({ kind, policy }: ContainerStanding): boolean =>
  kind === "sidecar" || policy !== "Never";

/** How the Go kubelet's Killing messages begin, by container kind. */
function kindOf({ kind }: ContainerStanding): string {
  return kind === "regular" ? "Container" : "Init container";
}

/**
 * Only name and image count; an attempt made by an agent that hashes otherwise (before 1.31 the whole container) is
 * judged by its image, of which the runtime may show another name than the spec's.
 */
function definitionChanged(container: Container, running: ObservedContainer): boolean {
  if (running.hash === containerHash(container)) return false;
  const names = [running.image, ...(running.imageNames ?? [])];
  return !names.some((name) => isSameImage(name, container.image ?? ""));
}

function replace(
  { parts: { record, draft } }: ContainerPlanning,
  running: ObservedContainer,
  fault: Fault,
): void {
  const { again, message } = fault;
  const stop = stopRequest(record, running, message, fault.probe);
  draft.actions.push({
    kind: "stopContainers",
    stops: [again ? { ...stop, again: true } : stop],
    decision: [
      makeDecision("killContainer", fault.rule, {
        container: running.name,
        graceSeconds: stop.graceSeconds,
        detail: stop.message,
      }),
    ],
  });
}

/** The stop of one container for its own sake; a probe may bring its own grace. */
function stopRequest(
  record: PodRecord,
  running: ObservedContainer,
  message: string,
  probe?: Probe,
): StopRequest {
  const graceSeconds = probe?.terminationGracePeriodSeconds ?? graceSecondsOf(record.pod);
  return { id: running.id, name: running.name, graceSeconds, message, preStop: true };
}

function restart(turn: ContainerPlanning, ended: ObservedContainer): void {
  const rule = ruleToRestart(turn);
  if (rule !== undefined) start(turn, ended, rule);
}

/** Why what ended is to run again; `undefined` when it is not, which then is written down. */
function ruleToRestart({ standing, parts }: ContainerPlanning): string | undefined {
  const { container, policy, end, restart: decision } = standing;
  if (!end || !decision) return undefined;
  if (decision.restart) return decision.rule;
  const inputs = { container: container.name, policy, exitCode: end.exitCode };
  parts.draft.standing.push(makeDecision("leaveStopped", decision.rule, inputs));
  return undefined;
}

/** Plans the start of an attempt, or the wait for it. */
export function start(
  turn: ContainerPlanning,
  previous: ObservedContainer | undefined,
  rule: string,
): void {
  const { standing, parts } = turn;
  const { record, sandbox, context, draft } = parts;
  const { name } = standing.container;
  const backoff =
    previous?.state === "exited" && waitsForItself(turn, previous)
      ? restartBackoff(record, standing, previous, {
          wallNow: context.wallNow,
          policy: context.restartBackoff,
        })
      : undefined;
  if (backoff && backoff.leftMs > 0) {
    draft.wake(after(context.now, backoff.leftMs));
    draft.waits[name] = {
      reason: "CrashLoopBackOff",
      message: crashLoopMessage(record, name, backoff.delayMs),
    };
    draft.standing.push(
      makeDecision("delayRestart", "crash loop back-off", {
        container: name,
        delayMs: backoff.delayMs,
        leftMs: backoff.leftMs,
      }),
    );
    return;
  }
  const stepFailure = record.retries.failures[name];
  if (stepFailure && stepFailure.notBefore > context.now) {
    draft.wake(stepFailure.notBefore);
    draft.waits[name] = { reason: stepFailure.reason, message: stepFailure.message };
    return;
  }
  const restartCount = previous ? previous.restartCount + 1 : 0;
  draft.actions.push({
    kind: "startContainer",
    name,
    containerKind: standing.kind,
    restartCount,
    sandboxId: sandbox.kind === "use" ? sandbox.sandbox.id : undefined,
    backoff: backoff?.next,
    decision: makeDecision("startContainer", rule, {
      container: name,
      restartCount,
      ...(previous?.state === "exited" ? { lastExitCode: previous.exitCode } : {}),
      policy: standing.policy,
    }),
  });
}

/** A container that was ended for another's sake starts again at once. */
function waitsForItself(
  { standing, parts }: ContainerPlanning,
  previous: ObservedContainer,
): boolean {
  return previous.outdated !== true || restartsAll(parts.record.pod, standing.container, previous);
}

function crashLoopMessage(record: PodRecord, name: string, delayMs: number): string {
  const { name: podName, namespace } = record.pod.metadata ?? {};
  return `back-off ${formatDuration(delayMs)} restarting failed container=${name} pod=${podName}_${namespace}(${record.uid})`;
}
