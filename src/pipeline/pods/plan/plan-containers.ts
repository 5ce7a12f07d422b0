// pure

import { makeDecision } from "../../../api/decisions.ts";
import type { Container, Probe } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import { containerHash } from "../../../api/pod/container-hash.ts";
import { graceSecondsOf } from "../../../api/pod/pod.ts";
import { formatDuration } from "../../../api/text/duration.ts";
import { isSameImage } from "../../../api/text/image-reference.ts";
import { after } from "../../../kit/instant.ts";
import { lastEnd } from "../record/lost-containers.ts";
import { attemptIn, lastMade, latestAttempt } from "../record/observed.ts";
import type { PodRecord } from "../record/record.ts";
import {
  decideRestart,
  type EndedAttempt,
  regularContainers,
  restartBackoff,
  restartPolicyOf,
  type SpecContainer,
} from "../record/restart.ts";
import { restartsAll } from "../record/rounds.ts";
import { removalOf, type StopRequest } from "./actions.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";
import { RESIZE_RESTART } from "./plan-resize.ts";
import type { SandboxPlan } from "./plan-sandbox.ts";

/** A sandbox that is there or will be by then. */
export type UsableSandbox = Exclude<SandboxPlan, { kind: "none" }>;

/** Regular containers: start what is missing, restart what ended, replace what changed or is sick. */
export function planContainers(
  record: PodRecord,
  sandbox: UsableSandbox,
  context: PlanContext,
  draft: PlanDraft,
): void {
  for (const spec of regularContainers(record.pod))
    planContainer(record, spec, { sandbox, context, draft });
}

/** Inputs that planning shares between the containers of a pod. */
export interface PlanParts {
  readonly sandbox: UsableSandbox;
  readonly context: PlanContext;
  readonly draft: PlanDraft;
}

/** One container that is wanted running; `init` containers come here too while it is their turn. */
export function planContainer(record: PodRecord, spec: SpecContainer, parts: PlanParts): void {
  const { sandbox, draft } = parts;
  const turn: ContainerPlanning = { record, spec, parts };
  const { name } = spec.container;
  const latest = latestAttempt(record.observed, name);
  const here =
    sandbox.kind === "use" ? attemptIn(record.observed, sandbox.sandbox.id, name) : undefined;
  if (!latest) {
    startAnew(turn);
    return;
  }
  switch (latest.state) {
    case "running": {
      if (!here) {
        // It runs in a sandbox that is being replaced: the stop is planned there.
        if (sandbox.kind === "create") start(turn, latest, "sandbox is new");
        return;
      }
      const fault = containerFault(record, spec, latest);
      if (draft.restarting.has(name)) start(turn, latest, RESIZE_RESTART);
      else if (fault) replace(turn, latest, fault);
      return;
    }
    case "unknown":
      replace(turn, latest, {
        rule: "state unknown",
        message: `${kindOf(spec)} is in "unknown" state, try killing it before restart`,
        again: comesBack(record, spec),
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
function startAnew(turn: ContainerPlanning): void {
  const { record, spec, parts } = turn;
  const { name } = spec.container;
  const before = lastMade(record.observed, name);
  const lost = before ? undefined : lastEnd(record, name);
  if (lost && ruleToRestart(turn, lost) === undefined) return;
  if (before?.state === "created") parts.draft.actions.push(removalOf(before));
  const rule = lost ? "is gone from the runtime" : "never started";
  start(turn, before, before ? "all containers are restarted" : rule);
}

/** One container in one planning. */
interface ContainerPlanning {
  readonly record: PodRecord;
  readonly spec: SpecContainer;
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
  record: PodRecord,
  spec: SpecContainer,
  running: ObservedContainer,
): Fault | undefined {
  const { container } = spec;
  const { name } = container;
  const killMessage = (what: string, again: boolean) => {
    // The Go kubelet adds this for regular containers only.
    const suffix = again && spec.kind === "regular" ? ", will be restarted" : "";
    return `${kindOf(spec)} ${name} ${what}${suffix}`;
  };
  // A plain init container finishes with what it began with, as with the Go kubelet; its next attempt is of the new image.
  if (spec.kind !== "init" && definitionChanged(container, running)) {
    const message = killMessage("definition changed", true);
    return { rule: "definition changed", message, again: true, probe: undefined };
  }
  const verdicts = record.tracked.probes[name];
  if (verdicts?.containerId !== running.id) return undefined;
  const again = comesBack(record, spec);
  for (const kind of ["liveness", "startup"] as const) {
    if (verdicts[kind] !== "failure") continue;
    const message = killMessage(`failed ${kind} probe`, again);
    return { rule: `${kind} probe failed`, message, again, probe: container[`${kind}Probe`] };
  }
  return undefined;
}

/** Whether what is stopped for its own fault is started again. */
const comesBack = ({ pod }: PodRecord, spec: SpecContainer): boolean =>
  spec.kind === "sidecar" || restartPolicyOf(pod, spec) !== "Never";

/** How the Go kubelet's Killing messages begin, by container kind. */
function kindOf({ kind }: SpecContainer): string {
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
  { record, parts }: ContainerPlanning,
  running: ObservedContainer,
  fault: Fault,
): void {
  const { draft } = parts;
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
  const rule = ruleToRestart(turn, ended);
  if (rule !== undefined) start(turn, ended, rule);
}

/** Why what ended is to run again; `undefined` when it is not, which then is written down. */
function ruleToRestart(
  { record, spec, parts }: ContainerPlanning,
  ended: EndedAttempt,
): string | undefined {
  const { restart: again, rule, policy } = decideRestart(record.pod, spec, ended);
  if (again) return rule;
  const { exitCode } = ended;
  const inputs = { container: spec.container.name, policy, exitCode };
  parts.draft.standing.push(makeDecision("leaveStopped", rule, inputs));
  return undefined;
}

/** Plans the start of an attempt, or the wait for it. */
export function start(
  turn: ContainerPlanning,
  previous: ObservedContainer | undefined,
  rule: string,
): void {
  const { record, spec, parts } = turn;
  const { sandbox, context, draft } = parts;
  const { name } = spec.container;
  const backoff =
    previous?.state === "exited" && waitsForItself(turn, previous)
      ? restartBackoff(record, spec, previous, {
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
    containerKind: spec.kind,
    restartCount,
    sandboxId: sandbox.kind === "use" ? sandbox.sandbox.id : undefined,
    backoff: backoff?.next,
    decision: makeDecision("startContainer", rule, {
      container: name,
      restartCount,
      ...(previous?.state === "exited" ? { lastExitCode: previous.exitCode } : {}),
      policy: restartPolicyOf(record.pod, spec),
    }),
  });
}

/** A container that was ended for another's sake starts again at once. */
function waitsForItself({ record, spec }: ContainerPlanning, previous: ObservedContainer): boolean {
  return previous.outdated !== true || restartsAll(record.pod, spec, previous);
}

function crashLoopMessage(record: PodRecord, name: string, delayMs: number): string {
  const { name: podName, namespace } = record.pod.metadata ?? {};
  return `back-off ${formatDuration(delayMs)} restarting failed container=${name} pod=${podName}_${namespace}(${record.uid})`;
}
