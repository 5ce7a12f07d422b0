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
interface ResizeAccess extends CgroupAccess {
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

/**
 * A memory limit below the usage would cause an OOM kill, and with unknown usage it may; the Go kubelet refuses
 * with the same words (kuberuntime validateMemoryResizeAction).
 */
async function refusal(
  { tree, settings }: ResizeAccess,
  request: CgroupResizeRequest,
  demand: ResizeDemand,
): Promise<string | undefined> {
  const path = podGroupOf(settings, demand.to);
  const errors: string[] = [];
  const podLimit = loweredPodMemory(settings, demand);
  if (podLimit !== undefined) {
    const used = await usageOf(tree, path);
    if (used === undefined) errors.push("missing pod memory usage");
    else if (used >= podLimit) errors.push(belowUsage("pod", podLimit, used));
  }
  const groups = await tree.children(path);
  for (const { name, id } of request.containers) {
    const group = groups.find((child) => child.includes(id));
    const limit = group && (await loweredLimit(tree, `${path}/${group}`, demand, name));
    if (!limit) continue;
    const used = await usageOf(tree, `${path}/${group}`);
    const what = `container ${JSON.stringify(name)}`;
    if (used === undefined) errors.push(`missing ${what} memory usage`);
    else if (used >= limit) errors.push(belowUsage(what, limit, used));
  }
  if (errors.length === 0) return undefined;
  const all = errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`;
  return `cannot decrease memory limits: ${all}`;
}

/** The memory limit that a container is to have, where it is less than what its group has or, if that cannot be read, had. */
async function loweredLimit(
  tree: CgroupAccess["tree"],
  group: string,
  { from, to }: ResizeDemand,
  name: string,
): Promise<number | undefined> {
  const limitOf = ({ containers }: ResizeDemand["to"]) =>
    containers.find((each) => each.name === name)?.limits.memoryBytes;
  const limit = limitOf(to);
  const has = (await tree.read(group, FILES[tree.version].limit)) ?? String(limitOf(from) ?? "max");
  return limit && isLess(String(limit), has) ? limit : undefined;
}

const FILES = {
  1: { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes" },
  2: { limit: "memory.max", usage: "memory.current" },
} as const;

/** Bytes in use; `undefined` where the kernel does not say. */
async function usageOf(tree: CgroupAccess["tree"], group: string): Promise<number | undefined> {
  const text = (await tree.read(group, FILES[tree.version].usage))?.trim();
  const used = Number(text || Number.NaN);
  return Number.isNaN(used) ? undefined : used;
}

function belowUsage(what: string, limit: number, used: number): string {
  return `attempting to set ${what} memory limit (${limit}) below current usage (${used})`;
}
