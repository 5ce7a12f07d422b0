import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock, MonotonicMs, WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type {
  ContainerRuntime,
  ImageService,
  RuntimeEvent,
  RuntimeService,
} from "../../outside/cri/cri.ts";

type Operations<S> = Readonly<Record<keyof S, string | undefined>>;

/** The Go kubelet's operation type of each of our methods; what it has none for is not counted. */
const RUNTIME_OPERATIONS: Operations<RuntimeService> = {
  version: "version",
  status: "status",
  runtimeConfig: "runtime_config",
  updateRuntimeConfig: "update_runtime_config",
  listSandboxes: "list_podsandbox",
  sandboxStatus: "podsandbox_status",
  runSandbox: "run_podsandbox",
  stopSandbox: "stop_podsandbox",
  removeSandbox: "remove_podsandbox",
  updateSandbox: "update_podsandbox_resources",
  listContainers: "list_containers",
  containerStatus: "container_status",
  listContainerStats: "list_container_stats",
  createContainer: "create_container",
  startContainer: "start_container",
  stopContainer: "stop_container",
  removeContainer: "remove_container",
  updateContainer: "update_container",
  execSync: "exec_sync",
  exec: "exec",
  attach: "attach",
  portForward: "port_forward",
  reopenLog: "reopen_container_log",
  events: undefined,
};

const IMAGE_OPERATIONS: Operations<ImageService> = {
  listImages: "list_images",
  imageStatus: "image_status",
  pullImage: "pull_image",
  removeImage: "remove_image",
  imageLabels: undefined,
  filesystems: "image_fs_info",
};

/** The same runtime with the Go kubelet's metrics of every call. */
export function instrumentRuntime(
  cri: ContainerRuntime,
  clock: Clock,
  metrics: MetricsRegistry,
): ContainerRuntime {
  const total = metrics.counter(METRICS.kubelet_runtime_operations_total);
  const errors = metrics.counter(METRICS.kubelet_runtime_operations_errors_total);
  const duration = metrics.histogram(METRICS.kubelet_runtime_operations_duration_seconds);
  const measured =
    (operation: string, call: (...args: never[]) => Promise<unknown>) =>
    async (...args: never[]) => {
      const labels = { operation_type: operation };
      const began = clock.monotonic();
      total.add(labels);
      try {
        return await call(...args);
      } catch (error) {
        if (error instanceof OutsideError) errors.add(labels);
        throw error;
      } finally {
        duration.observe((clock.monotonic() - began) / 1000, labels);
      }
    };
  const runtime = wrap(cri.runtime, RUNTIME_OPERATIONS, measured);
  return {
    runtime: { ...runtime, runSandbox: measureSandboxes(runtime.runSandbox, clock, metrics) },
    images: wrap(cri.images, IMAGE_OPERATIONS, measured),
  };
}

/** Sandboxes by the handler that makes them. */
function measureSandboxes(
  runSandbox: RuntimeService["runSandbox"],
  clock: Clock,
  metrics: MetricsRegistry,
): RuntimeService["runSandbox"] {
  const duration = metrics.histogram(METRICS.kubelet_run_podsandbox_duration_seconds);
  const errors = metrics.counter(METRICS.kubelet_run_podsandbox_errors_total);
  return async (config, handler, signal) => {
    const labels = { runtime_handler: handler };
    const began = clock.monotonic();
    try {
      return await runSandbox(config, handler, signal);
    } catch (error) {
      errors.add(labels);
      throw error;
    } finally {
      duration.observe((clock.monotonic() - began) / 1000, labels);
    }
  };
}

type Measure = (operation: string, call: (...args: never[]) => Promise<unknown>) => unknown;

function wrap<S extends object>(service: S, operations: Operations<S>, measure: Measure): S {
  const wrapped = { ...service };
  for (const name of Object.keys(operations) as (keyof S)[]) {
    const operation = operations[name];
    const call = service[name] as (...args: never[]) => Promise<unknown>;
    if (operation !== undefined)
      wrapped[name] = measure(operation, call.bind(service)) as S[typeof name];
  }
  return wrapped;
}

/** Metrics of watching the runtime, under the names of the Go kubelet's pod lifecycle event generator. */
export interface WatchMeasures {
  /** A listing of everything begins, the last of which began at `before`; the function is called at its end. */
  listing(before: MonotonicMs | undefined): () => void;
  /** A single pod is observed; the function is called at the end. */
  observing(): () => void;
  event(event: RuntimeEvent): void;
  /** An event of a pod was not followed, since it is observed after what is being done for it. */
  discarded(): void;
  streamOpened(): void;
  streamBroke(): void;
}

/** Registers the metrics. */
export function watchMeasures(metrics: MetricsRegistry, clock: Clock): WatchMeasures {
  const duration = metrics.histogram(METRICS.kubelet_pleg_relist_duration_seconds);
  const ofPod = metrics.histogram(METRICS.kubelet_pleg_pod_relist_duration_seconds);
  const interval = metrics.histogram(METRICS.kubelet_pleg_relist_interval_seconds);
  const lastSeen = metrics.gauge(METRICS.kubelet_pleg_last_seen_seconds);
  const discarded = metrics.counter(METRICS.kubelet_pleg_discard_events);
  const opened = metrics.counter(METRICS.kubelet_evented_pleg_connection_success_count);
  const broke = metrics.counter(METRICS.kubelet_evented_pleg_connection_error_count);
  const latency = metrics.histogram(METRICS.kubelet_evented_pleg_connection_latency_seconds);
  return {
    listing: (before) => {
      const began = clock.monotonic();
      const beganAt: WallMs = clock.wall();
      if (before !== undefined) interval.observe((began - before) / 1000);
      return () => {
        duration.observe((clock.monotonic() - began) / 1000);
        lastSeen.set(Math.floor(beganAt / 1000));
      };
    },
    observing: () => {
      const began = clock.monotonic();
      return () => ofPod.observe((clock.monotonic() - began) / 1000);
    },
    event: ({ createdAtMs }) => {
      if (createdAtMs !== undefined)
        latency.observe(Math.max(0, clock.wall() - createdAtMs) / 1000);
    },
    discarded: () => discarded.add(),
    streamOpened: () => opened.add(),
    streamBroke: () => broke.add(),
  };
}
