// pure
/**
 * CPUs of pods that request them as a whole (gate PodLevelResourceManagers, topologyManagerScope `pod`): the pod gets as many as it
 * requests, containers with whole CPUs have theirs out of these alone, and the others of the pod share the rest.
 * Source: KEP-2837, policy_static.go AllocatePod.
 */
import { allContainers, initContainerKind } from "../../api/pod/pod.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { hasPodAmounts } from "../../api/pod-level.ts";
import { milliOf } from "../../api/text/quantity.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { type CpuState, sortedCpus, withWholePod } from "./cpu-state.ts";
import {
  type CpuRefusal,
  exclusiveRequests,
  givableCpus,
  refuseSplitCores,
  type StaticPolicy,
  unexpected,
} from "./static-policy.ts";
import type { Taken } from "./take/packed.ts";
import { takeCpus, takeNear } from "./take/take-cpus.ts";

/** A container of such a pod; `count` is 0 where it shares. */
interface Member {
  readonly name: string;
  readonly kind: "init" | "sidecar" | "regular";
  readonly count: number;
}

/** A pod with CPUs of its own, in the order in which its containers start. */
interface WholePod {
  readonly count: number;
  readonly members: readonly Member[];
}

/** The pod as one that gets CPUs as a whole; `undefined` when it does not. */
export const wholePodOf = derivedOnce((pod: IdentifiedPod): WholePod | undefined => {
  if (!hasPodAmounts(pod) || qosClassOf(pod) !== "Guaranteed") return undefined;
  const { requests, limits } = pod.spec?.resources ?? {};
  const milli = milliOf(requests?.["cpu"] ?? limits?.["cpu"] ?? "0");
  if (milli === 0 || milli % 1000 !== 0) return undefined;
  const counts = new Map(exclusiveRequests(pod).map(({ container, count }) => [container, count]));
  const members = allContainers(pod).flatMap(({ container, kind }): Member[] => {
    if (kind === "ephemeral") return [];
    const { name } = container;
    const its = kind === "init" ? initContainerKind(container) : "regular";
    return [{ name, kind: its, count: counts.get(name) ?? 0 }];
  });
  return { count: milli / 1000, members };
});

/** Why containers of the pod that share would have no CPU; `undefined` when they have. */
export function emptyPool({ count, members }: WholePod): CpuRefusal | undefined {
  const refuse = (why: string): CpuRefusal => ({
    kind: "refused",
    reason: "EmptyPodSharedPoolError",
    message: `pod rejected, ${why}`,
  });
  let beside = 0;
  for (const { kind, count: own } of members) {
    if (kind === "init" && own === 0 && beside >= count)
      return refuse("pod has shared init containers but no cpus available for them");
    if (kind !== "init") beside += own;
  }
  const hasSharing = members.some(({ kind, count: own }) => kind !== "init" && own === 0);
  return hasSharing && beside === count
    ? refuse(
        "sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers",
      )
    : undefined;
}

/** Gives the pod its CPUs, close to these NUMA nodes, and each container its part; one that has them keeps them. */
export function assignWholePod(
  policy: StaticPolicy,
  state: CpuState,
  { pod, nodes }: { readonly pod: IdentifiedPod; readonly nodes: readonly number[] | undefined },
): { readonly kind: "assigned"; readonly state: CpuState } | CpuRefusal {
  const { uid } = pod.metadata;
  const whole = wholePodOf(pod);
  if (!whole || state.wholePods?.has(uid)) return { kind: "assigned", state };
  const refused = emptyPool(whole);
  if (refused) return refused;
  const available = givableCpus(policy, state);
  const { count } = whole;
  const split = policy.options.fullCores ? refuseSplitCores(policy, available, count) : undefined;
  if (split) return split;
  const taken = takeNear(policy.units, available, { count, nodes }, policy.options);
  if (!taken.ok) return unexpected(taken.error);
  const parts = partsOf(policy, whole, taken.cpus);
  if (!parts.ok) return unexpected(parts.error);
  return { kind: "assigned", state: withWholePod(state, uid, taken.cpus, parts.containers) };
}

type Parts =
  | { readonly ok: true; readonly containers: ReadonlyMap<string, readonly number[]> }
  | { readonly ok: false; readonly error: string };

/** Which of the pod's CPUs each container has. */
function partsOf(
  { units, options }: StaticPolicy,
  { members }: WholePod,
  all: readonly number[],
): Parts {
  const containers = new Map<string, readonly number[]>();
  let left = all;
  for (const { name, kind, count } of members) {
    if (count === 0) {
      if (kind === "init") containers.set(name, left);
      continue;
    }
    const taken: Taken = takeCpus(units, left, count, options);
    if (!taken.ok) return taken;
    containers.set(name, taken.cpus);
    // What an init container has is used again by those after it.
    if (kind !== "init") left = without(left, taken.cpus);
  }
  for (const { name, kind, count } of members)
    if (count === 0 && kind !== "init") containers.set(name, left);
  return { ok: true, containers };
}

function without(cpus: readonly number[], gone: readonly number[]): readonly number[] {
  const taken = new Set(gone);
  return sortedCpus(cpus.filter((cpu) => !taken.has(cpu)));
}
