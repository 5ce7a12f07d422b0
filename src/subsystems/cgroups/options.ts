// pure
import { wholeOf } from "../../api/text/quantity.ts";
import type { CgroupTree, HostFacts } from "../../outside/host/host.ts";
import { type CgroupDriver, parseCgroupRoot } from "./names.ts";
import { pageSizeName, readDemandAmounts } from "./plan/demand.ts";
import type { CgroupSettings, MemoryQos, NodeAmounts, ReservedGroup } from "./settings.ts";

/** The part of the configuration that concerns cgroups, in its own words and units. */
export interface CgroupOptions {
  readonly driver: CgroupDriver;
  /** In cgroupfs form; empty is the root. */
  readonly cgroupRoot: string;
  readonly cgroupsPerQos: boolean;
  /** Quantities by resource name (`cpu`, `memory`, `pid`, …). */
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly enforceNodeAllocatable: readonly string[];
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  /** -1 is no limit. */
  readonly podPidsLimit: number;
  /** Absent is off. */
  readonly qosReservedMemoryPercent?: number;
  /** Absent is off. */
  readonly memoryQos?: MemoryQos;
  readonly singleProcessOomKill: boolean;
  readonly swapBehavior: "NoSwap" | "LimitedSwap";
}

/** The configuration's defaults, for a tree of `version`. */
export function defaultCgroupOptions(version: 1 | 2): CgroupOptions {
  return {
    driver: "cgroupfs",
    cgroupRoot: "",
    cgroupsPerQos: true,
    systemReserved: {},
    kubeReserved: {},
    enforceNodeAllocatable: ["pods"],
    systemReservedCgroup: "",
    kubeReservedCgroup: "",
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 100_000,
    podPidsLimit: -1,
    singleProcessOomKill: version === 1,
    swapBehavior: "NoSwap",
  };
}

/** A reservation as amounts. `UsageError` on a value that is not a quantity. */
function readReservation(list: Readonly<Record<string, string>>): NodeAmounts {
  const pids = list["pid"];
  return { ...readDemandAmounts(list), ...(pids === undefined ? {} : { pids: wholeOf(pids) }) };
}

/** Everything the plans depend on, from configuration and machine. */
export function settingsFrom(
  options: CgroupOptions,
  tree: Pick<CgroupTree, "version" | "controllers">,
  facts: HostFacts,
): CgroupSettings {
  const systemReserved = readReservation(options.systemReserved);
  const kubeReserved = readReservation(options.kubeReserved);
  const enforce = new Set(options.enforceNodeAllocatable);
  return {
    version: tree.version,
    controllers: tree.controllers,
    driver: options.driver,
    root: parseCgroupRoot(options.cgroupRoot, options.driver),
    capacity: capacityOf(facts),
    systemReserved,
    kubeReserved,
    enforcePods: enforce.has("pods"),
    reservedGroups: [
      ...reservedGroup(enforce, "system-reserved", options.systemReservedCgroup, systemReserved),
      ...reservedGroup(enforce, "kube-reserved", options.kubeReservedCgroup, kubeReserved),
    ],
    hugepageSizes: facts.hugepages.map(({ sizeBytes }) => pageSizeName(sizeBytes)),
    cpuCfsQuota: options.cpuCfsQuota,
    cpuPeriodUs: options.cpuCfsQuotaPeriodUs,
    podPids: options.podPidsLimit,
    ...(options.qosReservedMemoryPercent === undefined
      ? {}
      : { qosReservedMemoryPercent: options.qosReservedMemoryPercent }),
    ...(options.memoryQos === undefined ? {} : { memoryQos: options.memoryQos }),
    pageBytes: facts.pageBytes,
    singleProcessOomKill: options.singleProcessOomKill,
    swap: { behavior: options.swapBehavior, controlled: false, bytes: facts.swapBytes },
  };
}

function capacityOf(facts: HostFacts): NodeAmounts {
  const hugepages: Record<string, number> = {};
  for (const { sizeBytes, pages } of facts.hugepages) {
    hugepages[pageSizeName(sizeBytes)] = sizeBytes * pages;
  }
  return {
    cpuMilli: facts.cpuCount * 1000,
    memoryBytes: facts.memoryBytes,
    pids: facts.pidMax,
    hugepages,
  };
}

function reservedGroup(
  enforce: ReadonlySet<string>,
  key: string,
  path: string,
  amounts: NodeAmounts,
): readonly ReservedGroup[] {
  const compressibleOnly = enforce.has(`${key}-compressible`);
  if (!enforce.has(key) && !compressibleOnly) return [];
  return [{ path: path.startsWith("/") ? path : `/${path}`, amounts, compressibleOnly }];
}
