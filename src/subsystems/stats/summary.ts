// pure

import {
  availableMemory,
  type ContainerFigures,
  type FsFigures,
  type GroupFigures,
  type InterfaceFigures,
  type Measurement,
  type NodeFigures,
  type PodFigures,
  type Pressure,
  type VolumeFigures,
} from "../../api/figures/figures.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";

/** `stats.k8s.io/v1alpha1` Summary, as JSON writes it. */
export interface Summary {
  readonly node: object;
  readonly pods: readonly object[];
}

/** Names in a summary. */
interface SummaryOptions {
  readonly nodeName: string;
  readonly pidMax: number;
  readonly onlyCpuAndMemory: boolean;
}

/** Interface whose figures stand at the top, as with the Go kubelet. */
const DEFAULT_INTERFACE = "eth0";
const NEVER = 0 as WallMs;

/** Groups of the node that the summary shows, in its words. */
const SYSTEM_CONTAINERS: ReadonlySet<string> = new Set(["kubelet", "pods", "runtime", "misc"]);

/** The summary of the Go kubelet, fields in its order; what is not known is left out. */
export function summarize(measured: Measurement, options: SummaryOptions): Summary {
  const { node, pods, atMs } = measured;
  return {
    node: nodeStats(node, atMs, options),
    pods: pods.map((pod) => podStats(pod, node, options.onlyCpuAndMemory)),
  };
}

function nodeStats(node: NodeFigures, atMs: WallMs, options: SummaryOptions): object {
  const { group, groups, bootedAtMs = NEVER, fs, imageFs, containerFs = imageFs } = node;
  const { nodeName, pidMax, onlyCpuAndMemory } = options;
  const startTime = rfc3339(bootedAtMs);
  const systemContainers = groups
    .filter(({ name }) => SYSTEM_CONTAINERS.has(name))
    .map(({ name, group: figures }) => ({ name, startTime, ...cpuAndMemory(figures) }));
  const main = { nodeName, systemContainers, startTime, ...cpuAndMemory(group) };
  const swap = swapStats(group);
  if (onlyCpuAndMemory) return { ...main, ...swap };
  return {
    ...main,
    ...ioStats(group),
    ...networkStats(node.network, atMs, nodeDefault(node)),
    ...(fs ? { fs: fsStats(fs) } : {}),
    // When images and layers share a file system, both are the same (1.29 and newer have both).
    ...(imageFs && containerFs
      ? { runtime: { imageFs: fsStats(imageFs), containerFs: fsStats(containerFs) } }
      : {}),
    rlimit: {
      time: rfc3339(atMs),
      maxpid: pidMax,
      ...(node.tasks === undefined ? {} : { curproc: node.tasks }),
    },
    ...swap,
  };
}

/** The node's own interface may have any name; the Go kubelet knows `eth0` only. */
function nodeDefault({ network, defaultInterface }: NodeFigures): string {
  const hasUsual = network.some(({ name }) => name === DEFAULT_INTERFACE);
  return hasUsual ? DEFAULT_INTERFACE : (defaultInterface ?? DEFAULT_INTERFACE);
}

function podStats(pod: PodFigures, node: NodeFigures, onlyCpuAndMemory: boolean): object {
  const { name, namespace, uid, startedAtMs = NEVER, group, volumes } = pod;
  const main = {
    podRef: { name, namespace, uid },
    startTime: rfc3339(startedAtMs),
    containers: pod.containers.map((container) => containerStats(container, onlyCpuAndMemory)),
    ...(group ? cpuAndMemory(group) : {}),
  };
  const swap = group ? swapStats(group) : {};
  if (onlyCpuAndMemory) return { ...main, ...swap };
  return {
    ...main,
    ...(group ? ioStats(group) : {}),
    ...(pod.network && group ? networkStats(pod.network, group.atMs, DEFAULT_INTERFACE) : {}),
    ...(volumes.length > 0 ? { volume: volumes.map(volumeStats) } : {}),
    ...ephemeralStorage(pod, node.fs),
    ...(group?.tasks === undefined ? {} : { process_stats: { process_count: group.tasks } }),
    ...swap,
  };
}

function containerStats(container: ContainerFigures, onlyCpuAndMemory: boolean): object {
  const { name, startedAtMs = NEVER, group, rootfs, logs } = container;
  const main = { name, startTime: rfc3339(startedAtMs), ...cpuAndMemory(group) };
  const swap = swapStats(group);
  if (onlyCpuAndMemory) return { ...main, ...swap };
  return {
    ...main,
    ...ioStats(group),
    ...(rootfs ? { rootfs: fsStats(rootfs) } : {}),
    ...(logs ? { logs: fsStats(logs) } : {}),
    ...swap,
  };
}

function cpuAndMemory(group: GroupFigures): object {
  const { atMs, cpu, memory, nanoCores, pressure } = group;
  const time = rfc3339(atMs);
  const left = memory && availableMemory(memory);
  return {
    ...(cpu
      ? {
          cpu: {
            time,
            ...(nanoCores === undefined ? {} : { usageNanoCores: nanoCores }),
            usageCoreNanoSeconds: cpu.usageNanos,
            ...psi(pressure.cpu),
          },
        }
      : {}),
    ...(memory
      ? {
          memory: {
            time,
            ...(left ? { availableBytes: left.available } : {}),
            usageBytes: memory.usageBytes,
            workingSetBytes: memory.workingSetBytes,
            rssBytes: memory.rssBytes,
            pageFaults: memory.pageFaults,
            majorPageFaults: memory.majorPageFaults,
            ...psi(pressure.memory),
          },
        }
      : {}),
  };
}

const NO_PRESSURE: Pressure["some"] = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

/** Zeros where the kernel counts none, as the Go kubelet shows it (cadvisorPSIToStatsPSI). */
function psi({ full, some }: Pressure = { full: NO_PRESSURE, some: NO_PRESSURE }): object {
  return { psi: { full: psiData(full), some: psiData(some) } };
}

function psiData({ total, avg10, avg60, avg300 }: Pressure["some"]): object {
  return { total, avg10, avg60, avg300 };
}

function ioStats({ atMs, pressure }: GroupFigures): object {
  return { io: { time: rfc3339(atMs), ...psi(pressure.io) } };
}

function swapStats({ atMs, swap }: GroupFigures): object {
  if (!swap) return {};
  const { usageBytes, limitBytes } = swap;
  return {
    swap: {
      time: rfc3339(atMs),
      ...(limitBytes === undefined
        ? {}
        : { swapAvailableBytes: Math.max(0, limitBytes - usageBytes) }),
      swapUsageBytes: usageBytes,
    },
  };
}

function networkStats(
  interfaces: readonly InterfaceFigures[],
  atMs: WallMs,
  defaultName: string,
): object {
  const main = interfaces.find(({ name }) => name === defaultName);
  return {
    network: {
      time: rfc3339(atMs),
      ...(main ? interfaceStats(main) : { name: "" }),
      interfaces: interfaces.map(interfaceStats),
    },
  };
}

function interfaceStats({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceFigures): object {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

function fsStats({ atMs, ...figures }: FsFigures): object {
  const { availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed } = figures;
  const values = { availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed };
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  return { time: rfc3339(atMs), ...Object.fromEntries(known) };
}

function volumeStats({ name, fs, claim }: VolumeFigures): object {
  const pvcRef = claim && { name: claim.name, namespace: claim.namespace };
  return { ...fsStats(fs), name, ...(pvcRef ? { pvcRef } : {}) };
}

/** Layers, logs, managed files and disk-backed volumes of the pod together; the rest is the node's file system. */
function ephemeralStorage(
  { containers, volumes, managedFiles }: PodFigures,
  node: FsFigures | undefined,
): object {
  if (!node) return {};
  const parts = [
    ...containers.flatMap(({ rootfs, logs }) => [rootfs, logs]),
    ...volumes.filter(({ ephemeral }) => ephemeral).map(({ fs }) => fs),
    managedFiles,
  ].filter((part) => part !== undefined);
  const sum = (of: (part: FsFigures) => number | undefined) =>
    parts.reduce((total, part) => total + (of(part) ?? 0), 0);
  const figures = {
    ...node,
    usedBytes: sum(({ usedBytes }) => usedBytes),
    inodesUsed: sum(({ inodesUsed }) => inodesUsed),
  };
  return { "ephemeral-storage": fsStats(figures) };
}
