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
  {
    name: "nodejs_active_resources_total",
    help: "Total number of active resources.",
    type: "gauge",
    field: "activeResources",
  },
  {
    name: "nodejs_threads",
    help: "Number of threads of the process.",
    type: "gauge",
    field: "threads",
  },
  // Dashboards ask Go's names; each has the value that means the same here, beside the one above.
  {
    name: "go_goroutines",
    help: "Asynchronous operations under way, in place of goroutines (nodejs_active_resources_total).",
    type: "gauge",
    field: "activeResources",
  },
  {
    name: "go_threads",
    help: "Number of threads of the process (nodejs_threads).",
    type: "gauge",
    field: "threads",
  },
  {
    name: "go_memstats_heap_alloc_bytes",
    help: "Bytes in use on the JavaScript heap (nodejs_heap_size_used_bytes).",
    type: "gauge",
    field: "heapUsedBytes",
  },
  {
    name: "go_memstats_alloc_bytes",
    help: "Bytes in use on the JavaScript heap (nodejs_heap_size_used_bytes).",
    type: "gauge",
    field: "heapUsedBytes",
  },
  {
    name: "go_memstats_heap_sys_bytes",
    help: "Bytes of the JavaScript heap taken from the system (nodejs_heap_size_total_bytes).",
    type: "gauge",
    field: "heapTotalBytes",
  },
  {
    name: "go_memstats_heap_inuse_bytes",
    help: "Bytes of the JavaScript heap taken from the system (nodejs_heap_size_total_bytes).",
    type: "gauge",
    field: "heapTotalBytes",
  },
];

/** The engine, under the name of Prometheus' client for Node.js and under Go's. */
function exposeEngine(metrics: MetricsRegistry, { engine }: OwnProcess): void {
  const [version = "", major = "", minor = "", patch = ""] =
    /v(\d+)\.(\d+)\.(\d+)/.exec(engine) ?? [];
  metrics.collected(
    { name: "nodejs_version_info", help: "Node.js version info.", type: "gauge" },
    () => [{ value: 1, labels: { version, major, minor, patch } }],
  );
  metrics.collected({ name: "go_info", help: "The engine, in place of Go.", type: "gauge" }, () => [
    { value: 1, labels: { version: engine } },
  ]);
}

/** Exposes what this process uses and how long turns of its event loop take, read when the page is. */
export function exposeProcess(metrics: MetricsRegistry, own: OwnProcess, nodeName: string): void {
  const sorted = ROWS.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  // The rows of one page are of one moment, which is read once.
  let usage = own.usage();
  for (const [i, { name, help, type, field }] of sorted.entries())
    metrics.collected({ name, help, type }, () => {
      if (i === 0) usage = own.usage();
      return [{ value: usage[field] }];
    });
  exposeEngine(metrics, own);
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
