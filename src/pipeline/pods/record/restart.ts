// pure

import type { Container, Pod } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import {
  type ContainerKind,
  effectiveRestartPolicy,
  matchingRestartRule,
  type RestartPolicy,
} from "../../../api/pod/pod.ts";

/** A container of the pod's spec with its kind and place. */
export interface SpecContainer {
  readonly container: Container;
  readonly kind: ContainerKind;
  readonly index: number;
}

/** The policy in force for one container, its own rules left aside (KEP-753, KEP-5307). */
export function restartPolicyOf(pod: Pod, { container, kind }: SpecContainer): RestartPolicy {
  const policy = effectiveRestartPolicy(pod, container);
  if (kind === "ephemeral") return "Never";
  // An init container that ended well is never run again, so Always means OnFailure for it.
  return kind === "init" && policy === "Always" ? "OnFailure" : policy;
}

/** Whether to start again, and by which rule. */
export interface RestartDecision {
  readonly restart: boolean;
  /** Name of the rule that decided. */
  readonly rule: string;
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
  if (replaced) return { restart: true, rule: "was stopped to be started again" };
  const rule =
    container.restartPolicy === undefined ? undefined : matchingRestartRule(container, exitCode);
  if (rule) {
    const { operator, values = [] } = rule.exitCodes ?? { operator: "" };
    return {
      restart: true,
      rule: `restartPolicyRules: exit code ${operator} [${values.join(" ")}]`,
    };
  }
  switch (policy) {
    case "Always":
      return { restart: true, rule: "restartPolicy Always" };
    case "Never":
      return { restart: false, rule: "restartPolicy Never" };
    case "OnFailure":
      return {
        restart: hasFailed(spec.kind, ended),
        rule: hasFailed(spec.kind, ended) ? "restartPolicy OnFailure" : "ended well",
      };
    default:
      return policy satisfies never;
  }
}
