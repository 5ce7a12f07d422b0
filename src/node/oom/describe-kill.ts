// pure
import type { Pod } from "../../api/generated/types.ts";
import { findContainer } from "../../api/pod/pod.ts";
import type { GroupPlace } from "../../subsystems/cgroups/cgroups.ts";
import type { OomKill } from "./kernel-lines.ts";

/** The limit that was reached, in words that follow "Memory limit of". */
interface ReachedLimit {
  readonly kind: "container" | "pod" | "class" | "pods" | "node" | "other";
  readonly text: string;
}

const CLASSES = { Burstable: "all burstable pods", BestEffort: "all best-effort pods" } as const;

/** Which limit was reached by a process of the container `name`. */
export function reachedLimit(limit: GroupPlace | undefined, pod: Pod, name: string): ReachedLimit {
  if (limit === undefined) return { kind: "node", text: "the node has no memory left" };
  switch (limit.kind) {
    case "container": {
      const amount = findContainer(pod, name)?.container.resources?.limits?.["memory"];
      return {
        kind: "container",
        text: `the memory limit of the container${inBrackets(amount)} is reached`,
      };
    }
    case "pod": {
      const amount = pod.spec?.resources?.limits?.["memory"];
      const text = `the memory limit of the pod${inBrackets(amount)} is reached by its containers together`;
      return { kind: "pod", text };
    }
    case "tier":
      return {
        kind: "class",
        text: `the memory limit of ${CLASSES[limit.qos as keyof typeof CLASSES] ?? "all pods"} (qosReserved) is reached`,
      };
    case "node":
      return { kind: "pods", text: "the memory limit of all pods of the node is reached" };
    case "other":
      return { kind: "other", text: "a memory limit above all pods is reached" };
    default:
      return limit satisfies never;
  }
}

function inBrackets(amount: string | undefined): string {
  return amount === undefined ? "" : ` (${amount})`;
}

/** The killing in one sentence: who died and why. */
export function describeKill(kill: OomKill, limit: ReachedLimit): string {
  const { program, pid, anonymousBytes, others } = kill;
  const held =
    anonymousBytes === undefined ? "" : ` holding ${Math.round(anonymousBytes / 2 ** 20)} MiB`;
  const rest =
    others.length === 0 ? "" : `, with it ${others.map((other) => other.program).join(", ")}`;
  return `Process ${program} (pid ${pid})${held} was killed: ${limit.text}${rest}`;
}
