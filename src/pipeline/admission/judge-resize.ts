// pure
/**
 * Whether a change in place that is asked for can be given, and in which order waiting resizes are retried.
 * Source: kubelet allocation_manager.go, allocation/handlers.go.
 */

import type { Container, Pod } from "../../api/generated/types.ts";
import {
  isSameAmount,
  isSameResources,
  type ResizeVerdict,
  resizableContainers,
} from "../../api/pod/allocation.ts";
import { isCriticalPod, isRestartableInit, isStaticPod } from "../../api/pod/pod.ts";
import { podResources } from "../../api/pod/pod-resources.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import { hasPodAmounts } from "../../api/pod-level.ts";
import { judge, type RuleInputs } from "./rules.ts";

/** Settings of the node that restrict resizing in place. */
export interface ResizeSettings {
  /** Feature gates of the same names. */
  readonly podScaling: boolean;
  readonly podLevelScaling: boolean;
  /** Of init containers that are no sidecars. */
  readonly initContainerScaling: boolean;
  readonly exclusiveCpuScaling: boolean;
  readonly exclusiveMemoryScaling: boolean;
  /** Pods get CPUs and memory as a whole, which stay as they are. */
  readonly podLevelManagers: boolean;
  /** Pods are ended for the resize of a critical one. */
  readonly preempts: boolean;
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  /** Burstable pods may swap, and the kernel can limit it. */
  readonly limitedSwap: boolean;
}

export interface ResizeInputs {
  /** As it is requested. */
  readonly desired: Pod;
  /** As it was given. */
  readonly allocated: Pod;
  /** The other pods, with what they hold. */
  readonly others: readonly Pod[];
  readonly nodeInfo: RuleInputs["nodeInfo"];
  readonly settings: ResizeSettings;
}

interface ResizeRule {
  readonly name: string;
  /** `undefined` means agreed. */
  readonly refuse: (inputs: ResizeInputs) => string | undefined;
}

/** Rules for resizes that are impossible on this node, in the order of evaluation. */
const NEVER: readonly ResizeRule[] = [
  { name: "feature gate", refuse: refuseGate },
  { name: "static pod", refuse: refuseStatic },
  { name: "swap", refuse: refuseSwap },
  { name: "pod-level feature gate", refuse: refusePodLevelGate },
  { name: "init container feature gate", refuse: refuseInitContainers },
  { name: "static CPU manager", refuse: refuseStaticCpus },
  { name: "static memory manager", refuse: refuseStaticMemory },
  { name: "capacity", refuse: refuseTooLargeForNode },
];

/** Judges one change in place. */
export function judgeResize(inputs: ResizeInputs): ResizeVerdict {
  for (const { name, refuse } of NEVER) {
    const message = refuse(inputs);
    if (message !== undefined) return { kind: "infeasible", rule: name, message };
  }
  const { desired, others, nodeInfo } = inputs;
  const refusal = judge({ candidate: desired, others, nodeInfo });
  if (!refusal) return { kind: "fits" };
  const { rule, reason, message } = refusal;
  return { kind: "deferred", rule, reason, message };
}

function refuseGate({ settings }: ResizeInputs): string | undefined {
  return settings.podScaling ? undefined : "InPlacePodVerticalScaling is disabled";
}

function refuseStatic({ desired }: ResizeInputs): string | undefined {
  return isStaticPod(desired) ? "In-place resize of static-pods is not supported" : undefined;
}

function refusePodLevelGate({ desired, allocated, settings }: ResizeInputs): string | undefined {
  const isSame = isSameResources(desired.spec?.resources, allocated.spec?.resources);
  return isSame || settings.podLevelScaling
    ? undefined
    : "InPlacePodLevelResourcesVerticalScaling is disabled";
}

function refuseInitContainers({ desired, allocated, settings }: ResizeInputs): string | undefined {
  if (settings.initContainerScaling) return undefined;
  const given = new Map((allocated.spec?.initContainers ?? []).map((each) => [each.name, each]));
  const changed = (desired.spec?.initContainers ?? []).find(
    (each) =>
      !isRestartableInit(each) && !isSameResources(each.resources, given.get(each.name)?.resources),
  );
  return changed ? "InPlacePodVerticalScalingInitContainers is disabled" : undefined;
}

const SWAP = "In-place resize of containers with swap is not supported.";

/** How much a container may swap follows from its memory request, and the kernel's limit is set at its start. */
function refuseSwap({ desired, allocated, settings }: ResizeInputs): string | undefined {
  if (!settings.limitedSwap) return undefined;
  const given = new Map(resizableContainers(allocated).map((each) => [each.name, each]));
  for (const container of resizableContainers(desired)) {
    const before = given.get(container.name);
    if (!before || isSameAmount(memoryRequest(container), memoryRequest(before))) continue;
    if (restartsFor(before, "memory")) continue;
    if (maySwap(desired, container) || maySwap(allocated, before)) return SWAP;
  }
  return undefined;
}

const memoryRequest = ({ resources }: Container) => resources?.requests?.["memory"];

function maySwap(pod: Pod, { resources }: Container): boolean {
  if (qosClassOf(pod) !== "Burstable" || isCriticalPod(pod)) return false;
  return !isSameAmount(resources?.requests?.["memory"], resources?.limits?.["memory"]);
}

function restartsFor({ resizePolicy = [] }: Container, resource: string): boolean {
  const policy = resizePolicy.find(({ resourceName }) => resourceName === resource);
  return policy?.restartPolicy === "RestartContainer";
}

function refuseStaticCpus(inputs: ResizeInputs): string | undefined {
  const { cpuManagerPolicy, exclusiveCpuScaling } = inputs.settings;
  if (cpuManagerPolicy !== "static") return undefined;
  return (!exclusiveCpuScaling && changesGuaranteed(inputs, "cpu")) || changesWhole(inputs, "cpu")
    ? 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
    : undefined;
}

function refuseStaticMemory(inputs: ResizeInputs): string | undefined {
  const { memoryManagerPolicy, exclusiveMemoryScaling } = inputs.settings;
  if (memoryManagerPolicy !== "Static") return undefined;
  return (!exclusiveMemoryScaling && changesGuaranteed(inputs, "memory")) ||
    changesWhole(inputs, "memory")
    ? 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'
    : undefined;
}

function changesGuaranteed({ desired, allocated }: ResizeInputs, resource: string): boolean {
  if (qosClassOf(desired) !== "Guaranteed") return false;
  const given = new Map(resizableContainers(allocated).map((each) => [each.name, each]));
  return resizableContainers(desired).some(({ name, resources }) => {
    const before = given.get(name)?.resources?.requests?.[resource];
    return !isSameAmount(resources?.requests?.[resource], before);
  });
}

/** Whether a pod that has its part as a whole, or a container of it, is to have another. */
function changesWhole(inputs: ResizeInputs, resource: string): boolean {
  const { desired, allocated, settings } = inputs;
  if (!settings.podLevelManagers || !hasPodAmounts(desired)) return false;
  const [now, before] = [desired, allocated].map(
    ({ spec }) => spec?.resources?.requests?.[resource],
  );
  const isOther = qosClassOf(desired) === "Guaranteed" && !isSameAmount(now, before);
  return isOther || changesGuaranteed(inputs, resource);
}

function refuseTooLargeForNode({ desired, nodeInfo }: ResizeInputs): string | undefined {
  const { cpuMilli, memoryBytes } = podResources(desired).requests;
  const { allocatable } = nodeInfo;
  const tooLarge = (name: string, requested: number, capacity: number) =>
    `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`;
  if (memoryBytes > allocatable.memoryBytes)
    return tooLarge("memory", memoryBytes, allocatable.memoryBytes);
  return cpuMilli > allocatable.cpuMilli
    ? tooLarge("cpu", cpuMilli, allocatable.cpuMilli)
    : undefined;
}

/** A change in place that waits. */
export interface WaitingResize {
  readonly desired: Pod;
  readonly allocated: Pod;
  /** Since when it waits, Unix milliseconds; absent when it was never judged. */
  readonly sinceMs?: number;
}

/**
 * Those that ask for no more first, then by priority, then guaranteed ones, then who waits longest
 * (sortPendingResizes).
 */
export function orderResizes<T extends WaitingResize>(waiting: readonly T[]): readonly T[] {
  const ranked = waiting.map((each) => ({ each, rank: rankOf(each) }));
  return ranked
    .sort((a, b) => a.rank.map((part, i) => part - (b.rank[i] ?? 0)).find((by) => by !== 0) ?? 0)
    .map(({ each }) => each);
}

function rankOf({ desired, allocated, sinceMs }: WaitingResize): readonly number[] {
  const requested = podResources(desired).requests;
  const held = podResources(allocated).requests;
  const grows = requested.cpuMilli > held.cpuMilli || requested.memoryBytes > held.memoryBytes;
  return [
    grows ? 1 : 0,
    grows ? -(desired.spec?.priority ?? 0) : 0,
    grows && qosClassOf(desired) !== "Guaranteed" ? 1 : 0,
    sinceMs ?? Number.MAX_SAFE_INTEGER,
  ];
}
