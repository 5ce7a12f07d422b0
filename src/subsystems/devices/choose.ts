// pure
/**
 * Which devices of one resource a container gets. In this order: those of its own pod that it may share,
 * those close to the chosen NUMA nodes (the plugin's preference first), then the others. Within a class the
 * lower id comes first. Source: device manager `devicesToAllocate`.
 */
import { maskOf, type NodeMask } from "../../api/node/numa.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { Device } from "./inventory.ts";
import { compareText } from "./requests.ts";

/** Devices to choose from. */
export interface Choices {
  readonly amount: number;
  /** All devices of the resource. */
  readonly devices: ReadonlyMap<string, Device>;
  /** Healthy ones without an owner. */
  readonly available: ReadonlySet<string>;
  /** Healthy ones of the own pod that may be shared. */
  readonly reusable: ReadonlySet<string>;
  /** NUMA nodes to be close to; `undefined` when it does not matter. */
  readonly near: NodeMask | undefined;
  /** NUMA nodes of the machine, ascending. */
  readonly numaNodes: readonly number[];
}

/** Request for the plugin's preferred allocation. */
export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly amount: number;
}

/** Devices that were chosen, or that there are too few. */
type Chosen =
  | {
      readonly kind: "chosen";
      /** Sorted. */
      readonly ids: readonly string[];
      /** `undefined` when the plugin's preference could change nothing. */
      readonly question: PreferenceQuestion | undefined;
      /** How they were found, in words. */
      readonly rule: string;
    }
  /** Not enough devices; `free` may be taken in all. */
  | { readonly kind: "short"; readonly free: number };

/** Chooses; `preferred` is the plugin's answer to the question of an earlier choice, advice only. */
export function chooseDevices(choices: Choices, preferred: readonly string[]): Chosen {
  const { amount, available } = choices;
  const chosen = sorted(choices.reusable).slice(0, amount);
  const reused = chosen.length;
  const needed = amount - reused;
  if (needed === 0)
    return { kind: "chosen", ids: chosen, question: undefined, rule: "shared within the pod" };
  if (available.size < needed) return { kind: "short", free: available.size };
  const { aligned, unaligned, placeless } = splitByPlace(choices);
  const narrow = needed < aligned.length;
  if (!narrow) appendAll(chosen, aligned);
  const pool = narrow ? aligned : [...unaligned, ...placeless];
  const inPool = new Set(pool);
  const liked = [...new Set(preferred)].filter((id) => inPool.has(id));
  const taken = new Set(chosen);
  for (const id of [...liked, ...pool]) {
    if (taken.size === amount) break;
    taken.add(id);
  }
  const open = chosen.length < amount;
  const rule = ruleOf({
    reused: reused > 0,
    aligned: aligned.length > 0,
    liked: open && liked.length > 0,
  });
  const question = { available: sorted([...pool, ...chosen]), mustInclude: sorted(chosen), amount };
  return { kind: "chosen", ids: sorted(taken), question: open ? question : undefined, rule };
}

function ruleOf(how: { reused: boolean; liked: boolean; aligned: boolean }): string {
  const parts = [
    ...(how.reused ? ["shared within the pod"] : []),
    ...(how.aligned ? ["close together"] : []),
    ...(how.liked ? ["preferred by the plugin"] : []),
  ];
  return parts.length === 0 ? "free" : parts.join(", ");
}

interface Places {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  readonly placeless: readonly string[];
}

/** Without a preference, or without devices with topology, all are equal. */
function splitByPlace({ devices, available, near, numaNodes }: Choices): Places {
  const all = sorted(available);
  const placed = near !== undefined && [...devices.values()].some(({ nodes }) => nodes.length > 0);
  if (!placed) return { aligned: [], unaligned: [], placeless: all };
  const placeOf = (id: string): keyof Places => {
    const nodes = devices.get(id)?.nodes ?? [];
    if (nodes.length === 0) return "placeless";
    return (maskOf(nodes, numaNodes) & near) === 0 ? "unaligned" : "aligned";
  };
  const places = Map.groupBy(all, placeOf);
  return {
    aligned: places.get("aligned") ?? [],
    unaligned: places.get("unaligned") ?? [],
    placeless: places.get("placeless") ?? [],
  };
}

function sorted(ids: Iterable<string>): string[] {
  return [...ids].sort(compareText);
}
