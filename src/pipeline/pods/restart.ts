// pure

import type { Container, Pod } from "../../api/generated/types.ts";
import type { ObservedContainer } from "../../api/observation.ts";
import {
  effectiveRestartPolicy,
  isRestartableInit,
  matchingRestartRule,
  type RestartPolicy,
} from "../../api/pod.ts";
import { type BackoffPolicy, backoffLeftMs, backoffNext } from "../../kit/backoff.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { ContainerKind } from "./actions.ts";
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

/** Containers that were added to the running pod for somebody to look around; they count for nothing. */
export function ephemeralContainers(pod: Pod): readonly SpecContainer[] {
  return (pod.spec?.ephemeralContainers ?? []).map((container, index) => ({
    container,
    kind: "ephemeral" as const,
    index,
  }));
}

/** The container of that name with its kind, whatever that is. */
export function findContainer(pod: Pod, name: string): SpecContainer | undefined {
  return [...specContainers(pod), ...ephemeralContainers(pod)].find(
    ({ container }) => container.name === name,
  );
}

/** Init containers in order, sidecars among them. */
export function initContainers(pod: Pod): readonly SpecContainer[] {
  return (pod.spec?.initContainers ?? []).map((container, index) => ({
    container,
    kind: isRestartableInit(container) ? ("sidecar" as const) : ("init" as const),
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

/** Whether to start again, and which rule said so. */
export interface RestartVerdict {
  readonly restart: boolean;
  /** Name of the rule that decided. */
  readonly rule: string;
  readonly policy: RestartPolicy;
}

/** Whether a container that ended with `exitCode` is to run again. */
export function decideRestart(pod: Pod, spec: SpecContainer, exitCode: number): RestartVerdict {
  const policy = restartPolicyOf(pod, spec);
  const { container } = spec;
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
        restart: exitCode !== 0,
        rule: exitCode === 0 ? "ended well" : "restartPolicy OnFailure",
        policy,
      };
    default:
      return policy satisfies never;
  }
}

/** What, when it changes, makes the back-off of a container start afresh (kuberuntime getBackoffKey). */
export function backoffKey(pod: Pod, container: Container): string {
  return [
    pod.metadata?.uid,
    container.name,
    container.image,
    JSON.stringify(container.resources ?? {}),
  ].join("|");
}

/** How far a restart back-off is. */
export interface BackoffState {
  readonly leftMs: number;
  readonly delayMs: number;
  /** The entry after a start now. */
  readonly next: RestartBackoff;
}

/** How long the restart of `ended` still has to wait, and the back-off after it (semantics: CrashLoop). */
export function restartBackoff(
  record: PodRecord,
  spec: SpecContainer,
  ended: ObservedContainer,
  at: { readonly wallNow: WallMs; readonly policy: BackoffPolicy },
): BackoffState {
  const key = backoffKey(record.pod, spec.container);
  const kept = record.backoff[spec.container.name];
  const entry = kept?.key === key ? kept : undefined;
  const endedAt = ended.finishedAtMs ?? ended.createdAtMs;
  return {
    leftMs: backoffLeftMs(entry, endedAt, at.wallNow, at.policy),
    delayMs: entry?.delayMs ?? 0,
    next: { key, ...backoffNext(entry, endedAt, at.wallNow, at.policy) },
  };
}
