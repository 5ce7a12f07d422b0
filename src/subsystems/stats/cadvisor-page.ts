// pure
import { exposeFamilies, type MetricFamily, type Sample } from "../../kit/metric-text.ts";
import type { HostFacts } from "../../outside/host/host.ts";
import type { DeviceFigures, InterfaceFigures, Measurement } from "./figures.ts";
import { groupMetrics } from "./group-metrics.ts";
import { counter, gauge, type MetricRow, perGroup, rowsOf } from "./metric-rows.ts";

/** Labels of the page. */
export interface CadvisorOptions {
  readonly facts: HostFacts;
  /** `/dev/sda` for `8:0`; empty when it has no name. */
  readonly deviceName: (device: string) => string;
}

/** `/metrics/cadvisor`: the names and labels that dashboards use (metrics/prometheus.go of cAdvisor). */
export function cadvisorPage(measured: Measurement, options: CadvisorOptions): string {
  const rows = rowsOf(measured);
  return exposeFamilies([
    ...groupMetrics(rows),
    ...storage(rows, options),
    ...network(rows),
    ...rest(rows),
    ...spec(rows),
    ...machine(options),
  ]);
}

function storage(
  rows: readonly MetricRow[],
  { deviceName }: CadvisorOptions,
): readonly MetricFamily[] {
  const one = (
    name: string,
    help: string,
    of: (device: DeviceFigures) => number,
  ): MetricFamily => ({
    ...counter(name, help),
    samples: rows.flatMap(({ labels, group }) =>
      group.devices.map(
        (figures): Sample => ({
          labels: { ...labels, device: deviceName(figures.device) },
          value: of(figures),
          timestampMs: group.atMs,
        }),
      ),
    ),
  });
  const usage = rows.flatMap(({ labels, group }) =>
    group.devices.flatMap(({ device, readBytes, writtenBytes }): readonly Sample[] => {
      const [major = "", minor = ""] = device.split(":");
      const at = { ...labels, device: deviceName(device), major, minor };
      return [
        { labels: { ...at, operation: "Read" }, value: readBytes, timestampMs: group.atMs },
        { labels: { ...at, operation: "Write" }, value: writtenBytes, timestampMs: group.atMs },
      ];
    }),
  );
  return [
    {
      ...counter("container_blkio_device_usage_total", "Blkio Device bytes usage"),
      samples: usage,
    },
    one("container_fs_reads_bytes_total", "Cumulative count of bytes read", (d) => d.readBytes),
    one("container_fs_reads_total", "Cumulative count of reads completed", (d) => d.reads),
    one(
      "container_fs_writes_bytes_total",
      "Cumulative count of bytes written",
      (d) => d.writtenBytes,
    ),
    one("container_fs_writes_total", "Cumulative count of writes completed", (d) => d.writes),
  ];
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

function network(rows: readonly MetricRow[]): readonly MetricFamily[] {
  return NETWORK.map(([name, what, member]) => ({
    ...counter(`container_network_${name}_total`, `Cumulative count of ${what}`),
    samples: rows.flatMap(({ labels, group, network: interfaces }) =>
      interfaces.map(
        (figures): Sample => ({
          labels: { ...labels, interface: figures.name },
          value: figures[member],
          timestampMs: group.atMs,
        }),
      ),
    ),
  }));
}

function rest(rows: readonly MetricRow[]): readonly MetricFamily[] {
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
      counter(
        "container_oom_events_total",
        "Count of out of memory events observed for the container",
      ),
      rows,
      ({ oomKills }) => oomKills,
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

/** Static values of containers; without timestamps, as in cAdvisor. */
function spec(rows: readonly MetricRow[]): readonly MetricFamily[] {
  const one = (
    name: string,
    help: string,
    of: (row: MetricRow) => number | undefined,
  ): MetricFamily => ({
    ...gauge(`container_${name}`, help),
    samples: rows.flatMap((row): readonly Sample[] => {
      const value = of(row);
      return value === undefined ? [] : [{ labels: row.labels, value }];
    }),
  });
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
  ];
}

function machine({ facts }: CadvisorOptions): readonly MetricFamily[] {
  const { kernelVersion, osImage: osVersion, cpuCount, memoryBytes, swapBytes } = facts;
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
    one("cpu_cores", "Number of logical CPU cores.", cpuCount),
    one("memory_bytes", "Amount of memory installed on the machine.", memoryBytes),
    one("swap_bytes", "Amount of swap memory available on the machine.", swapBytes),
    {
      ...gauge(
        "machine_scrape_error",
        "1 if there was an error while getting machine metrics, 0 otherwise.",
      ),
      samples: [{ value: 0 }],
    },
  ];
}
