// pure
/**
 * The static policy: containers of guaranteed pods that request whole CPUs get them for themselves, all others share what is
 * left. Source: cpumanager policy_static.go.
 */
import type { Container } from "../../api/generated/types.ts";
import { allContainers, initContainerKind } from "../../api/pod/pod.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { hasPodAmounts, isGuaranteedItself } from "../../api/pod-level.ts";
import { milliOf } from "../../api/text/quantity.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { type CpuState, sortedCpus } from "./cpu-state.ts";
import type { CpuOptions } from "./options.ts";
import { resizedCpus, withOtherCpus } from "./resize-cpus.ts";
import { takeNear } from "./take/take-cpus.ts";
import type { MachineUnits } from "./take/units.ts";

/** The machine, and what is asked of the policy. */
export interface StaticPolicy {
  readonly units: MachineUnits;
  /** NUMA nodes of the machine, ascending: the positions of hints. */
  readonly nodes: readonly number[];
  /** CPUs that no container gets for itself. */
  readonly reserved: readonly number[];
  readonly options: CpuOptions;
  /** Whether CPUs follow a change in place (gate InPlacePodVerticalScalingExclusiveCPUs). */
  readonly resizes?: boolean;
  /**
   * What pods with resources as a whole get (gate PodLevelResourceManagers): CPUs of single containers, or of the pod, by
   * the scope of the topology manager. Absent: nothing.
   */
  readonly podLevel?: "container" | "pod" | undefined;
}

/** A container that gets CPUs for itself. */
interface CpuRequest {
  readonly container: string;
  readonly kind: "init" | "sidecar" | "regular";
  readonly count: number;
}

/** Why a container cannot have its CPUs, as its pod's status says it. */
export interface CpuRefusal {
  readonly kind: "refused";
  readonly reason: string;
  readonly message: string;
}

/**
 * Containers of the pod that get CPUs for themselves, in the order in which they start. Of a pod with amounts as a whole none
 * without the gate: who has which part of them is not said.
 */
export function cpuRequests(
  pod: IdentifiedPod,
  policy: Pick<StaticPolicy, "podLevel"> = {},
): readonly CpuRequest[] {
  return policy.podLevel === undefined && hasPodAmounts(pod) ? NONE : exclusiveRequests(pod);
}

/** Containers of a guaranteed pod with whole CPUs; where the pod has amounts, those that are guaranteed theirs by themselves. */
export const exclusiveRequests = derivedOnce((pod: IdentifiedPod): readonly CpuRequest[] => {
  if (qosClassOf(pod) !== "Guaranteed") return NONE;
  const ofPod = hasPodAmounts(pod);
  const requests = allContainers(pod).flatMap(({ container, kind }): CpuRequest[] => {
    const isLeftOut = kind === "ephemeral" || (ofPod && !isGuaranteedItself(container));
    const count = isLeftOut ? 0 : wholeCpus(container);
    if (count === 0) return [];
    const own = kind === "init" ? initContainerKind(container) : "regular";
    return [{ container: container.name, kind: own, count }];
  });
  return requests.length === 0 ? NONE : requests;
});

const NONE: readonly CpuRequest[] = [];

function wholeCpus({ resources }: Pick<Container, "resources">): number {
  const milli = milliOf(resources?.requests?.["cpu"] ?? "0");
  return milli > 0 && milli % 1000 === 0 ? milli / 1000 : 0;
}

/** Most CPUs that the containers have at once: with those beside them, or an init container with the sidecars before it. */
export function podCpuCount(requests: readonly CpuRequest[]): number {
  let beside = 0;
  let peak = 0;
  for (const { kind, count } of requests) {
    if (kind === "init") peak = Math.max(peak, beside + count);
    else beside += count;
  }
  return Math.max(peak, beside);
}

/** CPUs that init containers of the pod have and no container beside them: those that come later get them first. */
export function reusableCpus(
  state: CpuState,
  { metadata: { uid } }: IdentifiedPod,
  requests: readonly CpuRequest[],
): readonly number[] {
  const kinds = new Map(requests.map(({ container, kind }) => [container, kind]));
  const reusable = new Set<number>();
  const kept = new Set<number>();
  for (const [container, cpus] of state.pods.get(uid) ?? [])
    for (const cpu of cpus) (kinds.get(container) === "init" ? reusable : kept).add(cpu);
  return [...reusable].filter((cpu) => !kept.has(cpu)).sort((a, b) => a - b);
}

/** CPUs of the shared pool that may be given to a container. */
export function givableCpus({ reserved }: StaticPolicy, state: CpuState): readonly number[] {
  const kept = new Set(reserved);
  return state.shared.filter((cpu) => !kept.has(cpu));
}

/** Gives the container its CPUs, close to these NUMA nodes; one that has some keeps them. */
export function assignCpus(
  policy: StaticPolicy,
  state: CpuState,
  about: {
    readonly pod: IdentifiedPod;
    readonly request: CpuRequest;
    readonly nodes: readonly number[] | undefined;
  },
): { readonly kind: "assigned"; readonly state: CpuState } | CpuRefusal {
  const { pod, request, nodes } = about;
  const { uid } = pod.metadata;
  const { container, count } = request;
  const held = state.pods.get(uid)?.get(container);
  if (held && (!policy.resizes || held.length === count)) return { kind: "assigned", state };
  const own = new Set(held);
  const reusable = reusableCpus(state, pod, exclusiveRequests(pod)).filter((cpu) => !own.has(cpu));
  const available = sortedCpus([...reusable, ...givableCpus(policy, state)]);
  const refused = policy.options.fullCores
    ? refuseSplitCores(policy, [...own, ...available], count)
    : undefined;
  if (refused) return refused;
  const taken = held
    ? resizedCpus({ units: policy.units, options: policy.options, held, count, available, nodes })
    : takeNear(policy.units, available, { count, nodes }, policy.options);
  if (taken.ok)
    return { kind: "assigned", state: withOtherCpus(state, uid, container, taken.cpus) };
  return unexpected(taken.error);
}

/** The refusal of what should have worked. */
export function unexpected(error: string): CpuRefusal {
  const message = `Allocate failed due to ${error}, which is unexpected`;
  return { kind: "refused", reason: "UnexpectedAdmissionError", message };
}

/** With `full-pcpus-only`: whole cores, of which none has a reserved thread. */
export function refuseSplitCores(
  { units, reserved }: StaticPolicy,
  available: readonly number[],
  count: number,
): CpuRefusal | undefined {
  const { threadsPerCore } = units;
  const refuse = (what: string): CpuRefusal => ({
    kind: "refused",
    reason: "SMTAlignmentError",
    message: `SMT Alignment Error: ${what}`,
  });
  if (count % threadsPerCore !== 0)
    return refuse(`requested ${count} cpus not multiple cpus per core = ${threadsPerCore}`);
  const kept = new Set(reserved.map((cpu) => units.cpus.get(cpu)?.core));
  const physical = available.filter((cpu) => !kept.has(units.cpus.get(cpu)?.core)).length;
  if (count <= physical) return undefined;
  return refuse(
    `not enough free physical CPUs: available physical CPUs = ${physical}, requested CPUs = ${count}, CPUs per core = ${threadsPerCore}`,
  );
}
