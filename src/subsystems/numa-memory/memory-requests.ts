// pure
import type { Container, Pod } from "../../api/generated/types.ts";
import { type ContainerKind, initContainerKind } from "../../api/pod/pod.ts";
import { amountOf } from "../../api/pod/pod-resources.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import { hasPodAmounts, isGuaranteedItself } from "../../api/pod-level.ts";
import { largest } from "../../kit/limits/lists.ts";
import { MEMORY } from "./memory-state.ts";

/** Bytes by type. */
export type MemoryAmounts = ReadonlyMap<string, number>;

/** What one container requests. */
export interface MemoryRequest {
  readonly container: string;
  readonly kind: Exclude<ContainerKind, "ephemeral">;
  readonly amounts: MemoryAmounts;
}

/**
 * What pods with amounts as a whole are assigned (gate PodLevelResourceManagers): memory of single containers, or of the pod, by
 * the scope of the topology manager. `undefined`: nothing.
 */
export type PodLevelMemory = "container" | "pod" | undefined;

/**
 * What the containers of a pod are assigned, in the order in which they start: only those of guaranteed pods are; of those with
 * amounts as a whole only with the gate, and containers that are guaranteed theirs by themselves.
 */
export function memoryRequests(
  pod: Pod,
  podLevel: PodLevelMemory = undefined,
): readonly MemoryRequest[] {
  if (qosClassOf(pod) !== "Guaranteed") return [];
  const ofPod = hasPodAmounts(pod);
  if (ofPod && podLevel === undefined) return [];
  const request = (container: Container, kind: MemoryRequest["kind"]): MemoryRequest => ({
    container: container.name,
    kind,
    amounts: ofPod && !isGuaranteedItself(container) ? new Map() : amountsOf(container),
  });
  return [
    ...(pod.spec?.initContainers ?? []).map((each) => request(each, initContainerKind(each))),
    ...(pod.spec?.containers ?? []).map((each) => request(each, "regular")),
  ].filter(({ amounts }) => amounts.size > 0);
}

/** Amounts of memory that are requested there, by type. */
export function amountsOf({ resources }: Pick<Container, "resources">): MemoryAmounts {
  return new Map(
    Object.entries(resources?.requests ?? {})
      .filter(([type]) => type === MEMORY || type.startsWith("hugepages-"))
      .map(([type, text]): [string, number] => [type, amountOf(type, text)])
      .filter(([, amount]) => amount > 0)
      .sort(([a], [b]) => (a < b ? 1 : -1)),
  );
}

/**
 * What the pod needs at once: sidecars and containers together, or an init container with the sidecars before it. Types that only
 * init containers request are not counted.
 */
export function totalRequest(requests: readonly MemoryRequest[]): MemoryAmounts {
  const sum = (all: readonly MemoryRequest[], type: string) =>
    all.reduce((total, { amounts }) => total + (amounts.get(type) ?? 0), 0);
  const regular = requests.filter(({ kind }) => kind === "regular");
  const types = new Set(regular.flatMap(({ amounts }) => [...amounts.keys()]));
  return new Map(
    [...types].map((type) => {
      const atOnce = requests.map(({ kind }, i) => {
        if (kind !== "init") return 0;
        const sidecars = requests.slice(0, i).filter((each) => each.kind === "sidecar");
        return sum([...sidecars, ...requests.slice(i, i + 1)], type);
      });
      const lasting = sum(
        requests.filter(({ kind }) => kind !== "init"),
        type,
      );
      return [type, largest(atOnce, lasting)];
    }),
  );
}
