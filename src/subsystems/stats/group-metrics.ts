// pure

import type {
  CpuFigures,
  GroupFigures,
  MemoryFigures,
  Pressure,
} from "../../api/figures/figures.ts";
import type { MetricFamily, Sample, WrittenFamily } from "../../kit/metric-text.ts";
import { counter, type Described, gauge, type MetricRow, perGroup } from "./metric-rows.ts";

const NANOS = 1e9;
const MICROS = 1e6;
const divided = (value: number | undefined, by: number) =>
  value === undefined ? undefined : value / by;

/** Metrics of CPU, memory, huge pages and pressure. */
export function groupMetrics(
  rows: readonly MetricRow[],
): readonly (MetricFamily | WrittenFamily)[] {
  return [...processor(rows), ...memory(rows), ...hugepages(rows), ...pressure(rows)];
}

function processor(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  const cpu = (name: string, help: string, of: (cpu: CpuFigures) => number | undefined) =>
    perGroup(counter(`container_cpu_${name}`, help), rows, (group) => group.cpu && of(group.cpu));
  return [
    perGroup(
      counter("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds."),
      rows,
      (group) => divided(group.cpu?.usageNanos, NANOS),
      { cpu: "total" },
    ),
    cpu("user_seconds_total", "Cumulative user cpu time consumed in seconds.", (one) =>
      divided(one.userNanos, NANOS),
    ),
    cpu("system_seconds_total", "Cumulative system cpu time consumed in seconds.", (one) =>
      divided(one.systemNanos, NANOS),
    ),
    // As cAdvisor: only where there is a quota.
    ...[
      perQuota(
        rows,
        "periods_total",
        "Number of elapsed enforcement period intervals.",
        (one) => one.periods,
      ),
      perQuota(
        rows,
        "throttled_periods_total",
        "Number of throttled period intervals.",
        (one) => one.throttledPeriods,
      ),
      perQuota(
        rows,
        "throttled_seconds_total",
        "Total time duration the container has been throttled.",
        (one) => divided(one.throttledNanos, NANOS),
      ),
    ],
  ];
}

function perQuota(
  rows: readonly MetricRow[],
  name: string,
  help: string,
  of: (cpu: CpuFigures) => number | undefined,
): WrittenFamily {
  return perGroup(counter(`container_cpu_cfs_${name}`, help), rows, (group) =>
    group.cpu && group.cpuSpec?.quotaUs !== undefined ? of(group.cpu) : undefined,
  );
}

function memory(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  const one = (described: Described, of: (memory: MemoryFigures) => number | undefined) =>
    perGroup(
      { ...described, name: `container_memory_${described.name}` },
      rows,
      (group) => group.memory && of(group.memory),
    );
  return [
    one(
      gauge(
        "usage_bytes",
        "Current memory usage in bytes, including all memory regardless of when it was accessed",
      ),
      (m) => m.usageBytes,
    ),
    one(gauge("working_set_bytes", "Current working set in bytes."), (m) => m.workingSetBytes),
    one(gauge("rss", "Size of RSS in bytes."), (m) => m.rssBytes),
    one(gauge("cache", "Number of bytes of page cache memory."), (m) => m.cacheBytes),
    one(gauge("mapped_file", "Size of memory mapped files in bytes."), (m) => m.mappedBytes),
    one(
      gauge("total_active_file_bytes", "Current total active file in bytes."),
      (m) => m.activeFileBytes,
    ),
    one(
      gauge("total_inactive_file_bytes", "Current total inactive file in bytes."),
      (m) => m.inactiveFileBytes,
    ),
    one(gauge("kernel_usage", "Size of kernel memory allocated in bytes."), (m) => m.kernelBytes),
    one(gauge("max_usage_bytes", "Maximum memory usage recorded in bytes"), (m) => m.peakBytes),
    one(counter("failcnt", "Number of memory usage hits limits"), (m) => m.failures),
    ...limitEvents(rows),
    perGroup(
      gauge("container_memory_swap", "Container swap usage in bytes."),
      rows,
      ({ swap, memory: m }) => (m ? (swap?.usageBytes ?? 0) : undefined),
    ),
    memoryFailures(rows),
  ];
}

function memoryFailures(rows: readonly MetricRow[]): WrittenFamily {
  const failures = (["container", "hierarchy"] as const).flatMap((scope) =>
    (["pgfault", "pgmajfault"] as const).map(
      (kind) =>
        perGroup(
          FAILURES,
          rows,
          ({ memory: m }) => (kind === "pgfault" ? m?.pageFaults : m?.majorPageFaults),
          {
            failure_type: kind,
            scope,
          },
        ).lines,
    ),
  );
  return { ...FAILURES, lines: failures.join("") };
}

/** How often groups met their limits; 0 on version 1, which does not count it. */
function limitEvents(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  const one = (name: string, what: string, of: (figures: MemoryFigures) => number | undefined) =>
    perGroup(
      counter(
        `container_memory_events_${name}_total`,
        `Cumulative count of memory.${what} events for the container`,
      ),
      rows,
      ({ memory: m }) => m && (of(m) ?? 0),
    );
  return [
    one("high", "high throttle", ({ highEvents }) => highEvents),
    one("max", "max limit hit", ({ maxEvents }) => maxEvents),
  ];
}

const FAILURES = counter(
  "container_memory_failures_total",
  "Cumulative count of memory allocation failures.",
);

function hugepages(rows: readonly MetricRow[]): readonly MetricFamily[] {
  type Hugepages = GroupFigures["hugepages"][number];
  const one = (
    described: Described,
    of: (pages: Hugepages) => number | undefined,
  ): MetricFamily => ({
    ...described,
    samples: rows.flatMap(({ labels, group }) =>
      group.hugepages.flatMap((pages): readonly Sample[] => {
        const value = of(pages);
        if (value === undefined) return [];
        return [{ base: labels, labels: { pagesize: pages.size }, value, timestampMs: group.atMs }];
      }),
    ),
  });
  return [
    one(
      gauge("container_hugetlb_usage_bytes", "Current hugepage usage in bytes"),
      (p) => p.usageBytes,
    ),
    one(
      gauge("container_hugetlb_max_usage_bytes", "Maximum hugepage usage recorded in bytes"),
      (p) => p.peakBytes,
    ),
    one(
      counter("container_hugetlb_failcnt", "Number of hugepage usage hits limits"),
      (p) => p.failures,
    ),
  ];
}

function pressure(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  return (["cpu", "memory", "io"] as const).flatMap((resource) => {
    const name = { cpu: "CPU", memory: "memory", io: "I/O" }[resource];
    const one = (kind: "stalled" | "waiting", verb: string, of: (pressure: Pressure) => number) =>
      perGroup(
        counter(
          `container_pressure_${resource}_${kind}_seconds_total`,
          `Total time duration ${verb} in the container have waited due to ${name} congestion.`,
        ),
        rows,
        (group) => {
          const found = group.pressure[resource];
          return found && of(found) / MICROS;
        },
      );
    return [
      one("stalled", "all tasks", ({ full }) => full.total),
      one("waiting", "tasks", ({ some }) => some.total),
    ];
  });
}
