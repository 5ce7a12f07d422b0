import { METRICS } from "../../api/metrics/metrics.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { OwnProcess, ProcessUsage } from "../../outside/serving.ts";

interface Row {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly field: keyof ProcessUsage;
}

/** Names and texts of Prometheus' clients: what every process has, and what every Node.js process has. */
const ROWS: readonly Row[] = [
  {
    name: "process_cpu_seconds_total",
    help: "Total user and system CPU time spent in seconds.",
    type: "counter",
    field: "cpuSeconds",
  },
  {
    name: "process_resident_memory_bytes",
    help: "Resident memory size in bytes.",
    type: "gauge",
    field: "residentBytes",
  },
  {
    name: "process_virtual_memory_bytes",
    help: "Virtual memory size in bytes.",
    type: "gauge",
    field: "virtualBytes",
  },
  {
    name: "process_start_time_seconds",
    help: "Start time of the process since unix epoch in seconds.",
    type: "gauge",
    field: "startTimeSeconds",
  },
  {
    name: "process_open_fds",
    help: "Number of open file descriptors.",
    type: "gauge",
    field: "openFiles",
  },
  {
    name: "process_max_fds",
    help: "Maximum number of open file descriptors.",
    type: "gauge",
    field: "maxFiles",
  },
  {
    name: "nodejs_heap_size_total_bytes",
    help: "Process heap size from Node.js in bytes.",
    type: "gauge",
    field: "heapTotalBytes",
  },
  {
    name: "nodejs_heap_size_used_bytes",
    help: "Process heap size used from Node.js in bytes.",
    type: "gauge",
    field: "heapUsedBytes",
  },
  {
    name: "nodejs_external_memory_bytes",
    help: "Node.js external memory size in bytes.",
    type: "gauge",
    field: "externalBytes",
  },
];

/** Exposes what this process uses and how long turns of its event loop take, read when the page is. */
export function exposeProcess(metrics: MetricsRegistry, own: OwnProcess, nodeName: string): void {
  for (const { name, help, type, field } of ROWS)
    metrics.collected({ name, help, type }, () => [{ value: own.usage()[field] }]);
  metrics.collected(
    {
      name: "nodelet_eventloop_delay_seconds",
      help: "Duration of event loop iterations in the last one to two minutes.",
      type: "gauge",
    },
    () => {
      const { p50Seconds, p99Seconds, maxSeconds } = own.loopDelay();
      return [
        { labels: { quantile: "0.5" }, value: p50Seconds },
        { labels: { quantile: "0.99" }, value: p99Seconds },
        { labels: { quantile: "1" }, value: maxSeconds },
      ];
    },
  );
  metrics.collected(METRICS.kubelet_node_name, () => [{ labels: { node: nodeName }, value: 1 }]);
}
