/**
 * The socket at which monitors ask which pod has which CPUs, memory, devices and claims; version 1 and the one before it.
 *
 * Example: `startPodResources("/var/lib/kubelet/pod-resources", { ...deps, providers: { devices: devices.held } })`.
 */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { TokenBucket } from "../../kit/limits/token-bucket.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { GrpcError, type ServedCall, unaryCall } from "../../outside/grpc/grpc.ts";
import { POD_RESOURCES, POD_RESOURCES_V1ALPHA1 } from "../../outside/plugins/plugins.ts";
import { type ServeSocketDeps, serveSocket } from "../sockets/serve-socket.ts";
import {
  allocatableResources,
  listedPod,
  listedPodV1alpha1,
  type PodResourcesProviders,
} from "./list-pods.ts";

interface PodResourcesDeps extends ServeSocketDeps {
  readonly metrics: MetricsRegistry;
  readonly providers: Partial<PodResourcesProviders>;
  /** Pods that run or are about to, or are being ended. */
  readonly pods: () => readonly IdentifiedPod[];
}

const SOCKET_NAME = "kubelet.sock";
/** Calls per second, and at once (DefaultPodResourcesMaxQPS and its burst). */
const RATE = { qps: 100, burst: 10 };
const NOT_FOUND = 5;
const RESOURCE_EXHAUSTED = 8;

/** Listens in the folder as long as the scope is open. */
export function startPodResources(folder: string, deps: PodResourcesDeps): void {
  const calls = podResourcesCalls(deps, podResourcesCounters(deps.metrics));
  serveSocket({ name: "pod resources API", folder, file: SOCKET_NAME, calls }, deps);
}

type Method = "list" | "get" | "get_allocatable";

function podResourcesCalls(
  { providers, pods, clock }: PodResourcesDeps,
  count: PodResourcesCounters,
): readonly ServedCall[] {
  const limit = new TokenBucket(RATE, clock);
  const answer =
    <Request, Response>(version: string, method: Method, act: (request: Request) => Response) =>
    async (request: Request): Promise<Response> => {
      if (!limit.tryTake()) throw new GrpcError(RESOURCE_EXHAUSTED, "rejected by rate limit");
      count.asked(version, method);
      try {
        return act(request);
      } catch (error) {
        count.failed(version, method);
        throw error;
      }
    };
  const { fullName, methods } = POD_RESOURCES;
  const alpha = POD_RESOURCES_V1ALPHA1;
  const list = () => pods().map((pod) => listedPod(pod, providers));
  return [
    unaryCall(
      fullName,
      methods.list,
      answer("v1", "list", () => ({ podResources: list() })),
    ),
    unaryCall(
      fullName,
      methods.getAllocatableResources,
      answer("v1", "get_allocatable", () => allocatableResources(providers)),
    ),
    unaryCall(
      fullName,
      methods.get,
      answer(
        "v1",
        "get",
        ({ podName, podNamespace }: { podName: string; podNamespace: string }) => {
          const found = pods().find(
            ({ metadata }) => metadata?.name === podName && metadata.namespace === podNamespace,
          );
          if (!found)
            throw new GrpcError(NOT_FOUND, `pod ${podName} in namespace ${podNamespace} not found`);
          return { podResources: listedPod(found, providers) };
        },
      ),
    ),
    unaryCall(
      alpha.fullName,
      alpha.methods.list,
      answer("v1alpha1", "list", () => ({ podResources: list().map(listedPodV1alpha1) })),
    ),
  ];
}

/** Counts the calls of this endpoint, by version of the interface and by method. */
interface PodResourcesCounters {
  asked(version: string, method: Method): void;
  failed(version: string, method: Method): void;
}

/** The Go kubelet's metrics of this endpoint: all calls, calls by method, and those that failed. */
function podResourcesCounters(metrics: MetricsRegistry): PodResourcesCounters {
  const total = metrics.counter(METRICS.kubelet_pod_resources_endpoint_requests_total);
  const requests = {
    list: metrics.counter(METRICS.kubelet_pod_resources_endpoint_requests_list),
    get: metrics.counter(METRICS.kubelet_pod_resources_endpoint_requests_get),
    get_allocatable: metrics.counter(
      METRICS.kubelet_pod_resources_endpoint_requests_get_allocatable,
    ),
  };
  const errors = {
    list: metrics.counter(METRICS.kubelet_pod_resources_endpoint_errors_list),
    get: metrics.counter(METRICS.kubelet_pod_resources_endpoint_errors_get),
    get_allocatable: metrics.counter(METRICS.kubelet_pod_resources_endpoint_errors_get_allocatable),
  };
  return {
    asked: (version, method) => {
      total.add({ server_api_version: version });
      requests[method].add({ server_api_version: version });
    },
    failed: (version, method) => errors[method].add({ server_api_version: version }),
  };
}
