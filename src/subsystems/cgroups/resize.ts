import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { isOutside } from "../../kit/errors.ts";
import { applyCgroupPlan, type CgroupAccess } from "./apply.ts";
import { podDemand } from "./demand-cache.ts";
import type { CgroupOptions } from "./options.ts";
import type { ContainerResources } from "./plan/plan-container.ts";
import {
  type ContainerUpdate,
  isLess,
  loweredPodMemory,
  planGroupResize,
  podGroupOf,
  type ResizeDemand,
  type ResizeStep,
  resizedFiles,
} from "./plan/plan-resize.ts";
import type { CgroupSettings } from "./settings.ts";

/** A running pod whose resources change without a restart. */
export interface CgroupResizeRequest {
  /** As its containers are now, and as they shall be. */
  readonly from: IdentifiedPod;
  readonly to: IdentifiedPod;
  /** Whether containers may have other values than in `from`. */
  readonly updateAll: boolean;
  /** Containers that run and stay running; others get what they shall have when they are made. */
  readonly containers: readonly { readonly name: string; readonly id: string }[];
  /** Sends the new resources of a container to the runtime. */
  readonly updateContainer: (id: string, resources: ContainerResources) => Promise<void>;
}

/** Its outcome. */
export type ResizeOutcome =
  | { readonly kind: "done"; readonly steps: readonly string[] }
  /** Nothing was changed. */
  | { readonly kind: "refused"; readonly message: string }
  /** Changed in part; trying again is safe. */
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly steps: readonly string[];
    };

/** Access for a resize; without cgroups of pods only their containers change. */
export interface ResizeAccess extends CgroupAccess {
  readonly settings: CgroupSettings;
  readonly options: Pick<CgroupOptions, "cgroupsPerQos">;
}

/** Carries the change out, step by step; stops at the first that fails. */
export async function applyResize(
  access: ResizeAccess,
  request: CgroupResizeRequest,
): Promise<ResizeOutcome> {
  const demand = await demandOf(access, request);
  const message = access.options.cgroupsPerQos ? await refusal(access, request, demand) : undefined;
  if (message !== undefined) return { kind: "refused", message };
  const steps: string[] = [];
  for (const step of planGroupResize(access.settings, demand)) {
    try {
      await take(access, step, request);
    } catch (thrown) {
      if (!isOutside(thrown)) throw thrown;
      return { kind: "failed", message: `${nameOf(step)}: ${thrown.message}`, steps };
    }
    steps.push(nameOf(step));
  }
  return { kind: "done", steps };
}

async function take(
  access: CgroupAccess,
  step: ResizeStep,
  request: CgroupResizeRequest,
): Promise<void> {
  if (step.kind === "containers") return await updateContainers(step.updates, request);
  const { failed } = await applyCgroupPlan(access, step.plan);
  if (failed[0]) throw failed[0].error;
}

async function updateContainers(
  updates: readonly ContainerUpdate[],
  { containers, updateContainer }: CgroupResizeRequest,
): Promise<void> {
  for (const { name, resources } of updates) {
    const running = containers.find((each) => each.name === name);
    if (running) await updateContainer(running.id, resources);
  }
}

async function demandOf(
  { tree, settings, options }: ResizeAccess,
  { from, to, updateAll }: CgroupResizeRequest,
): Promise<ResizeDemand> {
  const demand = { from: podDemand(from), to: podDemand(to), updateAll };
  if (!options.cgroupsPerQos) return demand;
  const found = new Map<string, string>();
  for (const file of resizedFiles(settings, demand.to)) {
    const value = await tree.read(podGroupOf(settings, demand.to), file);
    if (value !== undefined) found.set(file, value);
  }
  return { ...demand, found };
}

function nameOf(step: ResizeStep): string {
  return step.kind === "containers"
    ? `${step.resource} of the containers`
    : `${step.resource} ${step.part} of the pod`;
}

/** A memory limit below what is in use would kill; the Go kubelet refuses with the same words. */
async function refusal(
  { tree, settings }: ResizeAccess,
  request: CgroupResizeRequest,
  demand: ResizeDemand,
): Promise<string | undefined> {
  const path = podGroupOf(settings, demand.to);
  const [limitFile, usageFile] =
    tree.version === 1
      ? (["memory.limit_in_bytes", "memory.usage_in_bytes"] as const)
      : (["memory.max", "memory.current"] as const);
  const usage = async (group: string) => Number((await tree.read(group, usageFile)) ?? 0);
  const podLimit = loweredPodMemory(settings, demand);
  if (podLimit !== undefined) {
    const used = await usage(path);
    if (used >= podLimit) return belowUsage("pod", podLimit, used);
  }
  const groups = await tree.children(path);
  for (const { name, id } of request.containers) {
    const limit = demand.to.containers.find((each) => each.name === name)?.limits.memoryBytes;
    const group = groups.find((child) => child.includes(id));
    const has = group && (await tree.read(`${path}/${group}`, limitFile));
    if (!limit || has === undefined || !isLess(String(limit), has)) continue;
    const used = await usage(`${path}/${group}`);
    if (used >= limit) return belowUsage(`container ${JSON.stringify(name)}`, limit, used);
  }
  return undefined;
}

function belowUsage(what: string, limit: number, used: number): string {
  return `attempting to set ${what} memory limit (${limit}) below current usage (${used})`;
}
