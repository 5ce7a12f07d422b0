// pure

import type { GroupFigures, Measurement } from "../../api/figures/figures.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";

/** Amounts as `metrics.k8s.io` writes them. */
interface UsageList {
  /** E.g. `12345678n`. */
  readonly cpu: string;
  /** E.g. `1234Ki`. */
  readonly memory: string;
}

/** `metrics.k8s.io/v1beta1` NodeMetrics. */
export interface NodeMetrics {
  readonly kind: "NodeMetrics";
  readonly apiVersion: "metrics.k8s.io/v1beta1";
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
  readonly timestamp: string;
  /** E.g. `12.4s`. */
  readonly window: string;
  readonly usage: UsageList;
}

/** `metrics.k8s.io/v1beta1` PodMetrics. */
export interface PodMetrics {
  readonly kind: "PodMetrics";
  readonly apiVersion: "metrics.k8s.io/v1beta1";
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly creationTimestamp: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly timestamp: string;
  readonly window: string;
  readonly containers: readonly { readonly name: string; readonly usage: UsageList }[];
}

/** The node's usage; CPU is 0 until there is an average. */
export function nodeUsage(measured: Measurement, name: string, windowMs: number): NodeMetrics {
  const { node } = measured;
  const timestamp = rfc3339(measured.atMs);
  return {
    kind: "NodeMetrics",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: { name, creationTimestamp: timestamp },
    timestamp,
    window: shownWindow(windowMs),
    usage: usageOf(node.group),
  };
}

/** Usage of the pods all of whose measured containers have an average; a newer one is not shown yet. */
export function podUsages(
  measured: Measurement,
  windowMs: number,
  labels: ReadonlyMap<string, Readonly<Record<string, string>>>,
): readonly PodMetrics[] {
  const timestamp = rfc3339(measured.atMs);
  return measured.pods.flatMap(({ uid, name, namespace, containers }): readonly PodMetrics[] => {
    const isMeasured =
      containers.length > 0 && containers.every(({ group }) => group.nanoCores !== undefined);
    if (!isMeasured) return [];
    return [
      {
        kind: "PodMetrics",
        apiVersion: "metrics.k8s.io/v1beta1",
        metadata: { name, namespace, creationTimestamp: timestamp, labels: labels.get(uid) ?? {} },
        timestamp,
        window: shownWindow(windowMs),
        containers: containers.map((one) => ({ name: one.name, usage: usageOf(one.group) })),
      },
    ];
  });
}

function usageOf({ nanoCores = 0, memory }: GroupFigures): UsageList {
  const kibibytes = Math.floor((memory?.workingSetBytes ?? 0) / 1024);
  return { cpu: `${nanoCores}n`, memory: `${kibibytes}Ki` };
}

/** As Go writes a duration below a minute or above. */
function shownWindow(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds}s`;
  return `${Math.floor(seconds / 60)}m${Math.round((seconds % 60) * 1000) / 1000}s`;
}

/** Present usage of a group; values that were not measured yet are absent. */
export interface GroupUse {
  /** Average of the last seconds, in thousandths of a CPU. */
  readonly cpuMilli?: number;
  /** Working set. */
  readonly memoryBytes?: number;
  readonly tasks?: number;
}

/** Use of every group that was measured, by its path. */
export function groupUses({ node, pods }: Measurement): Readonly<Record<string, GroupUse>> {
  const uses: Record<string, GroupUse> = {};
  const add = (path: string, group: GroupFigures | undefined) => {
    if (group === undefined) return;
    const { nanoCores, memory, tasks } = group;
    uses[path] = {
      ...(nanoCores === undefined ? {} : { cpuMilli: nanoCores / NANOS_PER_MILLI }),
      ...(memory === undefined ? {} : { memoryBytes: memory.workingSetBytes }),
      ...(tasks === undefined ? {} : { tasks }),
    };
  };
  for (const { path, group } of node.groups) add(path, group);
  for (const pod of pods) {
    add(pod.path, pod.group);
    for (const { path, group } of pod.containers) add(path, group);
  }
  return uses;
}

const NANOS_PER_MILLI = 1_000_000;
