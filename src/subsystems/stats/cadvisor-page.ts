// pure

import type { InterfaceFigures, Measurement, ProcessFigures } from "../../api/figures/figures.ts";
import type { OomCounts } from "../../api/figures/oom-counts.ts";
import {
  exposeFamilies,
  type Labels,
  labelPairs,
  type MetricFamily,
  type WrittenFamily,
} from "../../kit/metric-text.ts";
import type { HostFacts } from "../../outside/host/host.ts";
import { groupMetrics } from "./group-metrics.ts";
import { counter, gauge, type MetricRow, perGroup, perRow, rowsOf } from "./metric-rows.ts";
import { storageMetrics } from "./storage-metrics.ts";

/** Labels of the page. */
interface CadvisorOptions {
  readonly facts: HostFacts;
  /** `/dev/sda` for `8:0`; empty when it has no name. */
  readonly deviceName: (device: string) => string;
  readonly oomCounts: Pick<OomCounts, "of">;
}

/** `/metrics/cadvisor`: the names and labels that dashboards use (metrics/prometheus.go of cAdvisor). */
export function cadvisorPage(measured: Measurement, options: CadvisorOptions): string {
  const rows = rowsOf(measured);
  return exposeFamilies([
    ...groupMetrics(rows),
    ...storageMetrics(rows, measured.node, options.deviceName),
    ...network(rows),
    ...rest(rows, options),
    ...spec(rows),
    ...machine(options),
  ]);
}

/** Metrics of the network by the member they show. */
const NETWORK = [
  ["receive_bytes", "bytes received", "rxBytes"],
  ["receive_packets", "packets received", "rxPackets"],
  ["receive_errors", "errors encountered while receiving", "rxErrors"],
  ["receive_packets_dropped", "packets dropped while receiving", "rxDropped"],
  ["transmit_bytes", "bytes transmitted", "txBytes"],
  ["transmit_packets", "packets transmitted", "txPackets"],
  ["transmit_errors", "errors encountered while transmitting", "txErrors"],
  ["transmit_packets_dropped", "packets dropped while transmitting", "txDropped"],
] as const satisfies readonly (readonly [string, string, keyof InterfaceFigures])[];

function network(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  const connected = rows.flatMap(({ series: { labels, end }, network: interfaces }) =>
    interfaces.map((figures) => ({
      series: { labels: `${labels},${labelPairs({ interface: figures.name })}`, end },
      figures,
    })),
  );
  return NETWORK.map(([name, what, member]) =>
    perRow(
      counter(`container_network_${name}_total`, `Cumulative count of ${what}`),
      connected,
      ({ figures }) => figures[member],
    ),
  );
}

function rest(
  rows: readonly MetricRow[],
  { oomCounts }: Pick<CadvisorOptions, "oomCounts">,
): readonly (MetricFamily | WrittenFamily)[] {
  return [
    perGroup(
      gauge("container_last_seen", "Last time a container was seen by the exporter"),
      rows,
      ({ atMs }) => Math.floor(atMs / 1000),
    ),
    perGroup(
      gauge("container_threads", "Number of threads running inside the container"),
      rows,
      ({ tasks }) => tasks,
    ),
    perGroup(
      gauge(
        "container_threads_max",
        "Maximum number of threads allowed inside the container, infinity if value is zero",
      ),
      rows,
      ({ maxTasks }) => maxTasks,
    ),
    ...processes(rows),
    perRow(
      counter(
        "container_oom_events_total",
        "Count of out of memory events observed for the container",
      ),
      rows,
      ({ labels }) => oomCounts.of(labels["id"] ?? ""),
    ),
    {
      ...gauge(
        "container_scrape_error",
        "1 if there was an error while getting container metrics, 0 otherwise",
      ),
      samples: [{ value: 0 }],
    },
  ];
}

function processes(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  const one = (
    name: string,
    help: string,
    of: (figures: ProcessFigures) => number | undefined,
    more?: Labels,
  ): WrittenFamily =>
    perRow(
      gauge(`container_${name}`, help),
      rows,
      ({ processes: figures }) => figures && of(figures),
      more,
    );
  return [
    one(
      "processes",
      "Number of processes running inside the container.",
      ({ processes: count }) => count,
    ),
    one(
      "file_descriptors",
      "Number of open file descriptors for the container.",
      ({ fileDescriptors }) => fileDescriptors,
    ),
    one("sockets", "Number of open sockets for the container.", ({ sockets }) => sockets),
    one(
      "ulimits_soft",
      "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice",
      ({ maxOpenFiles }) => maxOpenFiles,
      { ulimit: "max_open_files" },
    ),
  ];
}

/** Static values of containers; without timestamps, as in cAdvisor. */
function spec(rows: readonly MetricRow[]): readonly WrittenFamily[] {
  const timeless = rows.map((row) => ({ ...row, series: { ...row.series, end: "\n" } }));
  const one = (
    name: string,
    help: string,
    of: (row: MetricRow) => number | undefined,
  ): WrittenFamily => perRow(gauge(`container_${name}`, help), timeless, of);
  return [
    one(
      "start_time_seconds",
      "Start time of the container since unix epoch in seconds.",
      ({ startedAtMs }) => (startedAtMs === undefined ? undefined : Math.floor(startedAtMs / 1000)),
    ),
    one("spec_cpu_shares", "CPU share of the container.", ({ group }) => group.cpuSpec?.shares),
    one("spec_cpu_period", "CPU period of the container.", ({ group }) => group.cpuSpec?.periodUs),
    one("spec_cpu_quota", "CPU quota of the container.", ({ group }) => group.cpuSpec?.quotaUs),
    one(
      "spec_memory_limit_bytes",
      "Memory limit for the container.",
      ({ group: { memory: m } }) => m && (m.limitBytes ?? 0),
    ),
    one(
      "spec_memory_swap_limit_bytes",
      "Memory swap limit for the container.",
      ({ group: { memory: m, swap } }) => m && (swap?.limitBytes ?? 0),
    ),
    one(
      "spec_memory_reservation_limit_bytes",
      "Memory reservation limit for the container.",
      ({ group }) => group.memory && (group.memoryReservationBytes ?? 0),
    ),
  ];
}

function machine({ facts }: CadvisorOptions): readonly MetricFamily[] {
  const { kernelVersion, osImage: osVersion } = facts;
  const labels = {
    cadvisorRevision: "",
    cadvisorVersion: "",
    dockerVersion: "",
    kernelVersion,
    osVersion,
  };
  const about = {
    machine_id: facts.machineId,
    system_uuid: facts.systemUuid,
    boot_id: facts.bootId,
  };
  const one = (name: string, help: string, value: number): MetricFamily => ({
    ...gauge(`machine_${name}`, help),
    samples: [{ labels: about, value }],
  });
  return [
    {
      ...gauge(
        "cadvisor_version_info",
        "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      ),
      samples: [{ labels, value: 1 }],
    },
    one("cpu_cores", "Number of logical CPU cores.", facts.cpuCount),
    one("cpu_physical_cores", "Number of physical CPU cores.", facts.physicalCores),
    one("cpu_sockets", "Number of CPU sockets.", facts.cpuSockets),
    one("memory_bytes", "Amount of memory installed on the machine.", facts.memoryBytes),
    one("swap_bytes", "Amount of swap memory available on the machine.", facts.swapBytes),
    {
      ...gauge(
        "machine_scrape_error",
        "1 if there was an error while getting machine metrics, 0 otherwise.",
      ),
      samples: [{ value: 0 }],
    },
  ];
}
