import type { Pod } from "../../api/generated/types.ts";
import { isOutside } from "../../kit/errors.ts";
import { applyPlan, type Ground } from "./apply.ts";
import { podDemand } from "./demand-cache.ts";
import { literalPath, podName } from "./names.ts";
import {
  loweredContainerMemory,
  loweredPodMemory,
  planResize,
  type Resized,
  type ResizeStep,
} from "./plan-resize.ts";
import type { CgroupSettings } from "./settings.ts";

/** A running pod whose resources change without a restart. */
export interface ResizeOrder {
  /** As its group and containers are now, and as they shall be. */
  readonly from: Pod;
  readonly to: Pod;
  /** Containers that run, by name, so that none is cut below what it uses. */
  readonly containers: readonly { readonly name: string; readonly id: string }[];
  /** Tells the runtime the new resources of the containers that change in `resource`. */
  readonly updateContainers: (resource: Resized) => Promise<void>;
}

/** What became of it. */
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

/** Carries the change out, step by step; stops at the first that fails. */
export async function applyResize(
  ground: Ground,
  settings: CgroupSettings,
  order: ResizeOrder,
): Promise<ResizeOutcome> {
  const from = podDemand(order.from);
  const to = podDemand(order.to);
  const message = await refusal(ground, settings, order);
  if (message !== undefined) return { kind: "refused", message };
  const steps: string[] = [];
  for (const step of planResize(settings, from, to)) {
    try {
      await take(ground, step, order);
    } catch (thrown) {
      if (!isOutside(thrown)) throw thrown;
      return { kind: "failed", message: `${nameOf(step)}: ${thrown.message}`, steps };
    }
    steps.push(nameOf(step));
  }
  return { kind: "done", steps };
}

async function take(ground: Ground, step: ResizeStep, order: ResizeOrder): Promise<void> {
  if (step.kind === "containers") return order.updateContainers(step.resource);
  const { failed } = await applyPlan(ground, step.plan);
  if (failed[0]) throw failed[0].error;
}

function nameOf(step: ResizeStep): string {
  return step.kind === "containers"
    ? `${step.resource} of the containers`
    : `${step.resource} ${step.part} of the pod`;
}

/** A memory limit below what is in use would kill; the reference refuses with the same words. */
async function refusal(
  { tree }: Ground,
  settings: CgroupSettings,
  order: ResizeOrder,
): Promise<string | undefined> {
  const from = podDemand(order.from);
  const to = podDemand(order.to);
  const path = literalPath(podName(settings.root, to.qos, to.uid), settings.driver);
  const file = tree.version === 1 ? "memory.usage_in_bytes" : "memory.current";
  const usage = async (group: string) => Number((await tree.read(group, file)) ?? 0);
  const podLimit = loweredPodMemory(settings, from, to);
  if (podLimit !== undefined) {
    const used = await usage(path);
    if (used >= podLimit) return belowUsage("pod", podLimit, used);
  }
  const lowered = loweredContainerMemory(from, to);
  if (lowered.size === 0) return undefined;
  const groups = await tree.children(path);
  for (const { name, id } of order.containers) {
    const limit = lowered.get(name);
    const group = groups.find((child) => child.includes(id));
    if (limit === undefined || group === undefined) continue;
    const used = await usage(`${path}/${group}`);
    if (used >= limit) return belowUsage(`container ${JSON.stringify(name)}`, limit, used);
  }
  return undefined;
}

function belowUsage(what: string, limit: number, used: number): string {
  return `attempting to set ${what} memory limits (${limit}) below current usage (${used})`;
}
