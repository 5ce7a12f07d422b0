// pure
import { isTree } from "../../kit/json.ts";
/**
 * The files in which allocations outlive the agent, as the Go kubelet writes them (`allocated_pods_state`,
 * `actuated_pods_state`): JSON within JSON, with FNV-1a over the inner text as Go's spew shows it. What only
 * nodelet keeps stands beside the data, which the Go kubelet does not read.
 */

import type { ResourceRequirements } from "../../api/generated/types.ts";
import type { PodAllocation } from "../../api/pod/allocation.ts";
import { fnv1a32 } from "../../api/text/fnv.ts";

/** Allocations by UID of their pod. */
export type Allocations = ReadonlyMap<string, PodAllocation>;

/** The file as it was understood. */
type ReadAllocations =
  | {
      readonly kind: "read";
      readonly allocations: Allocations;
      /** By which the groups of pods were made, where that was written down. */
      readonly groups: Allocations;
    }
  | { readonly kind: "broken"; readonly why: string };

interface Entry {
  readonly ContainerResources: Readonly<Record<string, ResourceRequirements>>;
  readonly PodLevelResources: ResourceRequirements | null;
}

/** Checksum of the inner text. */
export const checksumOf = (data: string): number => fnv1a32(`(string)${data}`);

/** The file's text. */
export function encodeAllocations(
  allocations: Allocations,
  groups: Allocations = new Map(),
): string {
  const data = JSON.stringify(allocations.size === 0 ? {} : { entries: entriesOf(allocations) });
  const own = groups.size === 0 ? {} : { nodelet: { groups: entriesOf(groups) } };
  return JSON.stringify({ data, checksum: checksumOf(data), ...own });
}

function entriesOf(allocations: Allocations): Readonly<Record<string, Entry>> {
  return Object.fromEntries(
    [...allocations].map(([uid, { pod, containers }]): readonly [string, Entry] => [
      uid,
      { ContainerResources: containers, PodLevelResources: pod ?? null },
    ]),
  );
}

/** Reads the file's text. */
export function parseAllocations(text: string): ReadAllocations {
  try {
    const { data, checksum, nodelet } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (typeof data !== "string") return { kind: "broken", why: "it holds no data" };
    if (checksum !== checksumOf(data)) return { kind: "broken", why: "its checksum is wrong" };
    const { entries } = JSON.parse(data) as { entries?: unknown };
    const groups = isTree(nodelet) ? nodelet["groups"] : undefined;
    return { kind: "read", allocations: readEntries(entries), groups: readEntries(groups) };
  } catch (error) {
    return { kind: "broken", why: error instanceof Error ? error.message : String(error) };
  }
}

function readEntries(entries: unknown): Allocations {
  const found = new Map<string, PodAllocation>();
  for (const [uid, entry] of Object.entries(isTree(entries) ? entries : {})) {
    const { ContainerResources: given, PodLevelResources: own } = isTree(entry) ? entry : {};
    const containers = Object.fromEntries(
      Object.entries(isTree(given) ? given : {}).map(([name, each]) => [name, requirements(each)]),
    );
    const isWhole = isTree(own);
    found.set(uid, isWhole ? { pod: requirements(own), containers } : { containers });
  }
  return found;
}

/** The part that changes in place counts; whatever else stands there is no concern of ours. */
function requirements(given: unknown): ResourceRequirements {
  const { requests, limits } = isTree(given) ? given : {};
  const list = (name: "requests" | "limits", value: unknown) => {
    const texts = Object.entries(isTree(value) ? value : {}).filter(
      (each): each is [string, string] => typeof each[1] === "string",
    );
    return texts.length === 0 ? {} : { [name]: Object.fromEntries(texts) };
  };
  return { ...list("limits", limits), ...list("requests", requests) };
}
