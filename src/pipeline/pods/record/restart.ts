// pure

import type { Container, Pod } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import {
  type ContainerKind,
  effectiveRestartPolicy,
  initContainerKind,
  matchingRestartRule,
  type RestartPolicy,
} from "../../../api/pod/pod.ts";
import { type BackoffPolicy, backoffLeftMs, backoffNext } from "../../../kit/backoff.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { PodRecord, RestartBackoff } from "./record.ts";

/** A container of the pod's spec with its kind and place. */
export interface SpecContainer {
  readonly container: Container;
  readonly kind: ContainerKind;
  readonly index: number;
}

/** Init containers (and sidecars) in order, then regular ones; what the pod is made of. */
export function specContainers(pod: Pod): readonly SpecContainer[] {
  return [...initContainers(pod), ...regularContainers(pod)];
}

/** Ephemeral containers, added to the running pod for debugging; they do not count for phase and readiness. */
export function ephemeralContainers(pod: Pod): readonly SpecContainer[] {
  return (pod.spec?.ephemeralContainers ?? []).map((container, index) => ({
    container,
    kind: "ephemeral" as const,
    index,
  }));
}

/** The container of that name with its kind, whatever that is. */
export function findSpecContainer(pod: Pod, name: string): SpecContainer | undefined {
  return [...specContainers(pod), ...ephemeralContainers(pod)].find(
    ({ container }) => container.name === name,
  );
}

/** Init containers in order, sidecars among them. */
export function initContainers(pod: Pod): readonly SpecContainer[] {
  return (pod.spec?.initContainers ?? []).map((container, index) => ({
    container,
    kind: initContainerKind(container),
    index,
  }));
}

/** `spec.containers` in order. */
export function regularContainers(pod: Pod): readonly SpecContainer[] {
  return (pod.spec?.containers ?? []).map((container, index) => ({
    container,
    kind: "regular" as const,
    index,
  }));
}

/** The policy in force for one container, its own rules left aside (KEP-753, KEP-5307). */
export function restartPolicyOf(pod: Pod, { container, kind }: SpecContainer): RestartPolicy {
  const policy = effectiveRestartPolicy(pod, container);
  if (kind === "ephemeral") return "Never";
  // An init container that ended well is never run again, so Always means OnFailure for it.
  return kind === "init" && policy === "Always" ? "OnFailure" : policy;
}

/** Whether to start again, and by which rule. */
interface RestartDecision {
  readonly restart: boolean;
  /** Name of the rule that decided. */
  readonly rule: string;
  readonly policy: RestartPolicy;
}

/** Exit code of a container whose end was not observed (128 + SIGKILL, as in the Go kubelet). */
export const EXIT_CODE_UNKNOWN = 137;

/** Properties of an ended attempt that decide whether another follows. */
export type EndedAttempt = Pick<ObservedContainer, "exitCode" | "replaced"> & {
  readonly reason?: string;
};

/** The runtime's word for a container of which the kernel killed a process for memory. */
const OOM_KILLED = "OOMKilled";

/**
 * Whether an end counts as a failure. An init container of which a process was killed for memory has not done what it is
 * there for, whatever its first process made of that (kuberuntime isInitContainerFailed).
 */
export function hasFailed(kind: ContainerKind, { exitCode, reason }: EndedAttempt): boolean {
  return exitCode !== 0 || (kind === "init" && reason === OOM_KILLED);
}

/**
 * Whether a container that ended is to run again. What was stopped to be restarted does, also where it
 * took its leave with exit code 0 (kuberuntime computePodActions starts what it kills in the same pass).
 */
export function decideRestart(pod: Pod, spec: SpecContainer, ended: EndedAttempt): RestartDecision {
  const { exitCode, replaced } = ended;
  const policy = restartPolicyOf(pod, spec);
  const { container } = spec;
  if (replaced) return { restart: true, rule: "was stopped to be started again", policy };
  const rule =
    container.restartPolicy === undefined ? undefined : matchingRestartRule(container, exitCode);
  if (rule) {
    const { operator, values = [] } = rule.exitCodes ?? { operator: "" };
    return {
      restart: true,
      rule: `restartPolicyRules: exit code ${operator} [${values.join(" ")}]`,
      policy,
    };
  }
  switch (policy) {
    case "Always":
      return { restart: true, rule: "restartPolicy Always", policy };
    case "Never":
      return { restart: false, rule: "restartPolicy Never", policy };
    case "OnFailure":
      return {
        restart: hasFailed(spec.kind, ended),
        rule: hasFailed(spec.kind, ended) ? "restartPolicy OnFailure" : "ended well",
        policy,
      };
    default:
      return policy satisfies never;
  }
}

/** Key of a container's back-off, which is reset when the key changes (kuberuntime getBackoffKey). */
function backoffKey(pod: Pod, container: Container): string {
  return [
    pod.metadata?.uid,
    container.name,
    container.image,
    JSON.stringify(container.resources ?? {}),
  ].join("|");
}

/** A container that ran for longer starts afresh, whatever the longest pause is (kubelet.go HasExpiredFunc). */
const FORGET_MS = 600_000;

/** How far a restart back-off is. */
interface BackoffState {
  readonly leftMs: number;
  readonly delayMs: number;
  /** The entry after a start now. */
  readonly next: RestartBackoff;
}

/**
 * How long the restart of `ended` still has to wait, and the back-off after it (kuberuntime doBackOff);
 * `undefined` when nothing counts as a crash yet.
 */
export function restartBackoff(
  record: PodRecord,
  spec: SpecContainer,
  ended: ObservedContainer,
  at: { readonly wallNow: WallMs; readonly policy: BackoffPolicy },
): BackoffState | undefined {
  const key = backoffKey(record.pod, spec.container);
  const kept = record.retries.backoff[spec.container.name];
  const entry = kept?.key === key ? kept : undefined;
  const since = backoffSince(record, ended, entry);
  if (!since) return undefined;
  const endedAt = endOf(since);
  const policy = { ...at.policy, forgetMs: FORGET_MS };
  return {
    leftMs: backoffLeftMs(entry, endedAt, at.wallNow, policy),
    delayMs: entry?.delayMs ?? 0,
    next: { key, ...backoffNext(entry, endedAt, at.wallNow, policy) },
  };
}

/**
 * The end that the back-off counts from. The Go kubelet decides on the start of what it kills by what was
 * dead before: only when that one had to wait still does the wait count from the kill.
 */
function backoffSince(
  { observed }: PodRecord,
  ended: ObservedContainer,
  entry: RestartBackoff | undefined,
): ObservedContainer | undefined {
  if (!ended.replaced) return ended;
  const before = observed.containers.find(
    ({ id, name, state, createdAtMs }) =>
      id !== ended.id &&
      name === ended.name &&
      state === "exited" &&
      createdAtMs <= ended.createdAtMs,
  );
  if (!entry) return before;
  // It has been removed by now: its turn to decide has passed.
  if (!before) return ended;
  return endOf(ended) - endOf(before) < entry.delayMs ? ended : before;
}

const endOf = ({ finishedAtMs, createdAtMs }: ObservedContainer): WallMs =>
  finishedAtMs ?? createdAtMs;
