// pure
/**
 * Keeping what a container gets close together. A hint is a set of NUMA nodes (bits by position among the
 * machine's nodes) from which a request can be met; a policy merges the hints of all resources into one
 * set, or refuses. Source: topology manager, device manager `topology_hints.go`.
 */
import { largest, smallest } from "../../kit/limits/lists.ts";
import type { Device } from "./inventory.ts";

/** A set of NUMA nodes; bit i is the i-th node of the machine. */
export type NodeMask = number;

/** One set of nodes from which a request can be met. */
export interface Hint {
  /** `undefined`: no matter where. */
  readonly mask: NodeMask | undefined;
  /** Whether no narrower set could do. */
  readonly preferred: boolean;
}

/** Hints of one resource; `any` is no preference, an empty list means that the request cannot be met anywhere. */
export type Hints = "any" | readonly Hint[];

/** How strictly sets of nodes are taken (`topologyManagerPolicy`). */
export type TopologyPolicy = "none" | "best-effort" | "restricted" | "single-numa-node";

/** Policy, scope and nodes of the machine. */
export interface TopologySettings {
  readonly policy: TopologyPolicy;
  readonly scope: "container" | "pod";
  /** NUMA nodes of the machine, ascending. */
  readonly nodes: readonly number[];
}

/** More nodes than this make too many sets of them (defaultMaxAllowableNUMANodes). */
export const MAX_NUMA_NODES = 8;

/** Result of merging hints by a policy. */
type Alignment =
  | { readonly kind: "refused" }
  /** `mask` is `undefined` where placement does not matter. */
  | { readonly kind: "admitted"; readonly mask: NodeMask | undefined };

/** The set of a device's nodes, as far as the machine has them. */
export function maskOf(nodes: readonly number[], settings: TopologySettings): NodeMask {
  let mask = 0;
  for (const node of nodes) {
    const position = settings.nodes.indexOf(node);
    if (position >= 0) mask |= 1 << position;
  }
  return mask;
}

interface HintRequest {
  /** All devices of the resource. */
  readonly devices: ReadonlyMap<string, Device>;
  /** Those that may be taken. */
  readonly available: ReadonlySet<string>;
  /** Those of the pod that must be used before others are taken. */
  readonly reusable: ReadonlySet<string>;
  readonly amount: number;
}

interface Group {
  readonly mask: NodeMask;
  all: number;
  available: number;
  reusable: number;
}

/** NUMA nodes on which a request can be met. */
export function deviceHints(request: HintRequest, settings: TopologySettings): Hints {
  const { devices, available, reusable, amount } = request;
  const groups = groupByMask(request, settings);
  if (![...devices.values()].some(({ nodes }) => nodes.length > 0)) return "any";
  if (available.size + reusable.size < amount) return [];
  const hosting = groups.reduce((mask, group) => mask | group.mask, 0);
  let narrowest = settings.nodes.length;
  const found: NodeMask[] = [];
  for (let mask = hosting; mask > 0; mask = (mask - 1) & hosting) {
    const touching = groups.filter((group) => (group.mask & mask) !== 0);
    if (sum(touching, "all") >= amount) narrowest = Math.min(narrowest, bitCount(mask));
    const leftOut = groups.some((group) => group.reusable > 0 && (group.mask & mask) === 0);
    if (leftOut) continue;
    if (sum(touching, "reusable") + sum(touching, "available") >= amount) found.push(mask);
  }
  return found.map((mask) => ({ mask, preferred: bitCount(mask) === narrowest }));
}

/** Devices without topology belong to no set of nodes and are left out. */
function groupByMask(
  { devices, available, reusable }: HintRequest,
  settings: TopologySettings,
): readonly Group[] {
  const groups = new Map<NodeMask, Group>();
  for (const { id, nodes } of devices.values()) {
    const mask = maskOf(nodes, settings);
    if (mask === 0) continue;
    const group = groups.get(mask) ?? { mask, all: 0, available: 0, reusable: 0 };
    group.all += 1;
    if (reusable.has(id)) group.reusable += 1;
    else if (available.has(id)) group.available += 1;
    groups.set(mask, group);
  }
  return [...groups.values()];
}

function sum(groups: readonly Group[], part: "all" | "available" | "reusable"): number {
  return groups.reduce((total, group) => total + group[part], 0);
}

/** Merges the hints of all resources as the policy requires it. */
export function align(hints: readonly Hints[], settings: TopologySettings): Alignment {
  const { policy } = settings;
  if (policy === "none") return { kind: "admitted", mask: undefined };
  const everywhere = 2 ** settings.nodes.length - 1;
  const lists = hints.map(asList);
  const narrow = policy === "single-numa-node" ? lists.map((list) => list.filter(isSingle)) : lists;
  const best = merge(narrow, everywhere);
  if (policy !== "best-effort" && !best.preferred) return { kind: "refused" };
  const anywhere = policy === "single-numa-node" && best.mask === everywhere;
  return { kind: "admitted", mask: anywhere ? undefined : best.mask };
}

function asList(hints: Hints): readonly Hint[] {
  if (hints === "any") return [{ mask: undefined, preferred: true }];
  return hints.length === 0 ? [{ mask: undefined, preferred: false }] : hints;
}

function isSingle({ mask, preferred }: Hint): boolean {
  return preferred && (mask === undefined || bitCount(mask) === 1);
}

interface Merged {
  readonly mask: NodeMask;
  readonly preferred: boolean;
}

/** Hints of some resources put together: what they have in common, and whether they all named the same set. */
interface Partial {
  readonly mask: NodeMask;
  readonly named: NodeMask | "none" | "several";
  readonly preferred: boolean;
}

/**
 * The best of all combinations of one hint per resource. Combinations that are equivalent are
 * followed once, so that the work does not grow with the product of the lists.
 */
function merge(lists: readonly (readonly Hint[])[], everywhere: NodeMask): Merged {
  let combined: readonly Partial[] = [{ mask: everywhere, named: "none", preferred: true }];
  for (const list of lists) {
    const next = new Map<string, Partial>();
    for (const partial of combined)
      for (const hint of list) {
        const extended = extend(partial, hint);
        next.set(`${extended.mask} ${extended.named} ${extended.preferred}`, extended);
      }
    combined = [...next.values()];
  }
  const wanted = largest(lists.map(smallestCount), 0);
  let best: Merged | undefined;
  for (const { mask, named, preferred } of combined) {
    if (mask === 0) continue;
    const candidate = { mask, preferred: preferred && named !== "several" };
    if (!best || isBetter(candidate, best, wanted)) best = candidate;
  }
  return best ?? { mask: everywhere, preferred: false };
}

function extend(partial: Partial, { mask, preferred }: Hint): Partial {
  const allPreferred = partial.preferred && preferred;
  if (mask === undefined) return { ...partial, preferred: allPreferred };
  const named = partial.named === "none" || partial.named === mask ? mask : "several";
  return { mask: partial.mask & mask, named, preferred: allPreferred };
}

function smallestCount(list: readonly Hint[]): number {
  const counts = list.flatMap(({ mask }) => (mask === undefined ? [] : [bitCount(mask)]));
  return counts.length === 0 ? 0 : smallest(counts);
}

/**
 * Preferred before not; among preferred ones the narrower. Among others the one whose size comes closest
 * to `wanted` (what the most demanding resource needs at least) without exceeding it.
 */
function isBetter(candidate: Merged, current: Merged, wanted: number): boolean {
  if (candidate.preferred !== current.preferred) return candidate.preferred;
  if (candidate.preferred) return isNarrower(candidate.mask, current.mask);
  const [now, then] = [bitCount(candidate.mask), bitCount(current.mask)];
  if (then > wanted) return isNarrower(candidate.mask, current.mask);
  if (then === wanted) return now === wanted && isNarrower(candidate.mask, current.mask);
  if (now > wanted) return false;
  return now > then || (now === then && isNarrower(candidate.mask, current.mask));
}

/** Fewer nodes; of as many, the lower ones. */
function isNarrower(a: NodeMask, b: NodeMask): boolean {
  const [countA, countB] = [bitCount(a), bitCount(b)];
  return countA === countB ? a < b : countA < countB;
}

function bitCount(mask: NodeMask): number {
  let count = 0;
  for (let rest = mask; rest > 0; rest &= rest - 1) count += 1;
  return count;
}
