// pure
import type { ContainerStatus, Pod, PodCondition } from "../../api/generated/types.ts";
import type { SpecContainer } from "../pods/record/restart.ts";

const OWN_CONDITIONS: ReadonlySet<string> = new Set([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "AllContainersRestarting",
  "PodResizePending",
  "PodResizeInProgress",
]);

/** Whether only a kubelet sets conditions of this type. */
export const isOwnCondition = (type: string): boolean => OWN_CONDITIONS.has(type);

/** The conditions, each as `others` has it where it changed there later. */
export const newerConditions = (
  conditions: readonly PodCondition[],
  others: readonly PodCondition[],
): readonly PodCondition[] =>
  conditions.map((own) => {
    const other = others.find(({ type }) => type === own.type);
    return other && changedAt(other) > changedAt(own) ? other : own;
  });

/** Milliseconds; what has no time has never changed. */
function changedAt({ lastTransitionTime }: PodCondition): number {
  const ms = Date.parse(lastTransitionTime ?? "");
  return Number.isNaN(ms) ? 0 : ms;
}

/** A condition without its times, which the keeper of the last one sets. */
export interface ConditionVerdict {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
  /** Set when it is not the pod's present generation. */
  readonly observedGeneration?: number;
}

interface ConditionInputs {
  readonly pod: Pod;
  readonly phase: string;
  readonly init: readonly SpecContainer[];
  readonly initStatuses: readonly ContainerStatus[];
  readonly statuses: readonly ContainerStatus[];
  /** Why its sandbox cannot be used; `undefined` when it can. */
  readonly sandboxProblem: string | undefined;
  /** All containers are being restarted; `undefined` for pods that no rule asks it of. */
  readonly restartingAll: boolean | undefined;
  /** All conditions last published: readiness gates are set by others. */
  readonly published: readonly PodCondition[];
}

/** The conditions the kubelet owns, in its order (status/generate.go). */
export function podConditions(inputs: ConditionInputs): readonly ConditionVerdict[] {
  const containersReady = containersReadyCondition(inputs);
  return [
    readyToStartCondition(inputs),
    initializedCondition(inputs),
    readyCondition(inputs, containersReady),
    containersReady,
    { type: "PodScheduled", status: "True" },
    ...restartingCondition(inputs),
  ];
}

function readyToStartCondition({ sandboxProblem: message }: ConditionInputs): ConditionVerdict {
  const type = "PodReadyToStartContainers";
  return message === undefined
    ? { type, status: "True" }
    : { type, status: "False", reason: "PodSandboxNotReady", message };
}

function restartingCondition({
  phase,
  restartingAll,
}: ConditionInputs): readonly ConditionVerdict[] {
  const type = "AllContainersRestarting";
  if (restartingAll === undefined) return [];
  if (phase === "Succeeded") return [{ type, status: "False", reason: "PodCompleted" }];
  if (phase === "Failed") return [{ type, status: "False", reason: "PodFailed" }];
  if (!restartingAll) return [{ type, status: "False" }];
  return [
    {
      type,
      status: "True",
      reason: "RestartAllContainersStarted",
      message: "container exited with restart policy rule",
    },
  ];
}

function initializedCondition({
  phase,
  init,
  initStatuses,
  statuses,
  published,
}: ConditionInputs): ConditionVerdict {
  const type = "Initialized";
  if (phase === "Succeeded") return { type, status: "True", reason: "PodCompleted" };
  const incomplete: string[] = [];
  const unknown: string[] = [];
  const anyStarted = statuses.some(
    ({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated,
  );
  for (const { container, kind } of init) {
    const status = initStatuses.find(({ name }) => name === container.name);
    if (!status) unknown.push(container.name);
    else if (
      kind === "sidecar" ? status.started !== true && !anyStarted : !status.ready && !anyStarted
    ) {
      incomplete.push(container.name);
    }
  }
  // A pod that was once initialized stays so, also while its init containers run again.
  const before = published.some((known) => known.type === type && known.status === "True");
  if (before || (unknown.length === 0 && incomplete.length === 0)) return { type, status: "True" };
  return {
    type,
    status: "False",
    reason: "ContainersNotInitialized",
    message: parts([
      ["containers with unknown status", unknown],
      ["containers with incomplete status", incomplete],
    ]),
  };
}

function containersReadyCondition({
  phase,
  init,
  initStatuses,
  statuses,
}: ConditionInputs): ConditionVerdict {
  const type = "ContainersReady";
  if (phase === "Succeeded") return { type, status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  const sidecars = init
    .filter(({ kind }) => kind === "sidecar")
    .map(({ container }) => container.name);
  const relevant = [...initStatuses.filter(({ name }) => sidecars.includes(name)), ...statuses];
  const unready = relevant.filter(({ ready }) => !ready).map(({ name }) => name);
  if (unready.length === 0) return { type, status: "True" };
  return {
    type,
    status: "False",
    reason: "ContainersNotReady",
    message: parts([["containers with unready status", unready]]),
  };
}

function readyCondition(
  { pod, published }: ConditionInputs,
  containersReady: ConditionVerdict,
): ConditionVerdict {
  if (containersReady.status !== "True") return { ...containersReady, type: "Ready" };
  const messages: string[] = [];
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const condition = published.find(({ type }) => type === conditionType);
    if (!condition)
      messages.push(
        `corresponding condition of pod readiness gate "${conditionType}" does not exist.`,
      );
    else if (condition.status !== "True") {
      messages.push(
        `the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`,
      );
    }
  }
  if (messages.length === 0) return { type: "Ready", status: "True" };
  return {
    type: "Ready",
    status: "False",
    reason: "ReadinessGatesNotReady",
    message: messages.join(", "),
  };
}

function parts(groups: readonly (readonly [string, readonly string[]])[]): string {
  return groups
    .filter(([, names]) => names.length > 0)
    .map(([text, names]) => `${text}: [${names.join(" ")}]`)
    .join(", ");
}
