/**
 * The socket at which programs of the node list, get and watch its pods, without an API server (KEP-4188,
 * `v1alpha1.Pods`). Pods are messages of core/v1 with the status that the agent has derived.
 *
 * Example: `startPodsApi("/var/lib/kubelet/pods-api", { ...deps, pods: pipelinePods(pipeline), seen: pipeline.seen })`.
 */
import { METRICS } from "../../api/metrics/metrics.ts";
import { writeMessage } from "../../api/wire/write-message.ts";
import type { Reading } from "../../kit/cell.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { messageOf } from "../../kit/errors.ts";
import { TokenBucket } from "../../kit/limits/token-bucket.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import {
  GRPC_STATUS,
  GrpcError,
  grpcStatusName,
  type ServedCall,
  streamCall,
  unaryCall,
} from "../../outside/grpc/grpc.ts";
import {
  type GetPodRequest,
  type GetPodResponse,
  type ListPodsResponse,
  POD_EVENT_TYPE,
  PODS_API,
  type WatchPodsEvent,
} from "../../outside/plugins/plugins.ts";
import { type ServeSocketDeps, serveSocket } from "../sockets/serve-socket.ts";
import { followPods, type NamedPods, PodWatchers, type ServedChange } from "./pod-watchers.ts";
import { goneServedPod, type NamedPod, servedPod } from "./served-pods.ts";

interface PodsApiDeps extends ServeSocketDeps {
  readonly metrics: MetricsRegistry;
  readonly pods: NamedPods;
  /** Whether every source was seen: until then nothing is answered. */
  readonly seen: Reading<boolean>;
}

const SOCKET_NAME = "pods-api.sock";
/** Calls with one answer per second, and at once, as the pod resources API has them. */
const RATE = { qps: 100, burst: 10 };
/** How long watchers have to read that the agent ends. */
const FINISH_MS = 500;
/** The part of the service's name before the dot. */
const VERSION = "v1alpha1";

/** Listens in the folder as long as the scope is open. */
export function startPodsApi(folder: string, deps: PodsApiDeps): void {
  const { clock, scope, metrics, pods } = deps;
  const { count, dropped } = podsApiCounters(metrics);
  const watchers = new PodWatchers({ clock, onDropped: dropped });
  const calls = podsApiCalls(deps, { watchers, count });
  serveSocket({ name: "pods API", folder, file: SOCKET_NAME, calls, finishMs: FINISH_MS }, deps);
  scope.spawn("pods API watchers", "restart", (signal) => watchers.run(signal));
  scope.defer(
    "pods of the pods API",
    followPods(pods, (change) => watchers.publish(change)),
  );
}

type Method = "list" | "get" | "watch";

/** Counts one call that has ended. */
type CountCall = (method: Method, error?: unknown) => void;

/** The counters of this socket: all calls, and those of each method, by their status; and changes that were dropped. */
interface PodsApiCounters {
  readonly count: CountCall;
  readonly dropped: () => void;
}

/** Registers the counters of this socket; they are there with the gate off, too. */
export function podsApiCounters(metrics: MetricsRegistry): PodsApiCounters {
  const total = metrics.counter(METRICS.kubelet_pod_requests_total);
  const counters = {
    list: metrics.counter(METRICS.kubelet_pod_requests_list_total),
    get: metrics.counter(METRICS.kubelet_pod_requests_get_total),
    watch: metrics.counter(METRICS.kubelet_pod_requests_watch_total),
  };
  const dropped = metrics.counter(METRICS.kubelet_pod_watch_events_dropped_total);
  return {
    count: (method, error) => {
      const labels = { server_api_version: VERSION, status_code: grpcStatusName(error) };
      total.add(labels);
      counters[method].add(labels);
    },
    dropped: () => dropped.add(),
  };
}

interface CallParts {
  readonly watchers: PodWatchers;
  readonly count: CountCall;
}

function podsApiCalls(
  { pods, seen, clock }: PodsApiDeps,
  { watchers, count }: CallParts,
): readonly ServedCall[] {
  const limit = new TokenBucket(RATE, clock);
  const { fullName, methods } = PODS_API;
  const answer =
    <Request, Response>(method: Method, act: (request: Request) => Response) =>
    async (request: Request): Promise<Response> => {
      // A call that is refused here is not counted, as in the Go kubelet.
      if (!limit.tryTake())
        throw new GrpcError(GRPC_STATUS.ResourceExhausted, "rejected by rate limit");
      try {
        requireSeen(seen);
        const response = act(request);
        count(method);
        return response;
      } catch (error) {
        count(method, error);
        throw error;
      }
    };
  const list = (): ListPodsResponse => ({ pods: sortedPods(pods).map((each) => encodedPod(each)) });
  const get = ({ podUID }: GetPodRequest): GetPodResponse => {
    const found = pods.get(podUID);
    if (!found) throw new GrpcError(GRPC_STATUS.NotFound, `pod with UID ${podUID} not found`);
    return { pod: encodedPod(found) };
  };
  return [
    unaryCall(fullName, methods.listPods, answer("list", list)),
    unaryCall(fullName, methods.getPod, answer("get", get)),
    streamCall(fullName, methods.watchPods, (_, signal) =>
      counted(watchPods({ pods, seen, watchers }, signal), count),
    ),
  ];
}

/** Counts the stream when it ends: `Canceled` when its reader leaves. */
async function* counted(
  events: AsyncIterable<WatchPodsEvent>,
  count: CountCall,
): AsyncIterable<WatchPodsEvent> {
  let ended: unknown = new GrpcError(GRPC_STATUS.Canceled, "context canceled");
  try {
    yield* events;
  } catch (error) {
    ended = error;
    throw error;
  } finally {
    count("watch", ended);
  }
}

async function* watchPods(
  { pods, seen, watchers }: Pick<PodsApiDeps, "pods" | "seen"> & Pick<CallParts, "watchers">,
  signal: AbortSignal,
): AsyncIterable<WatchPodsEvent> {
  requireSeen(seen);
  const watcher = watchers.watch();
  try {
    for (const each of sortedPods(pods))
      yield { type: POD_EVENT_TYPE.ADDED, pod: encodedPod(each, "initial watch event pod") };
    yield { type: POD_EVENT_TYPE.INITIAL_SYNC_COMPLETE, pod: NO_BYTES };
    for (;;) {
      const change = await watcher.next(signal);
      if (signal.aborted) return;
      if (!change)
        throw new GrpcError(GRPC_STATUS.ResourceExhausted, "watch client channel closed");
      yield eventOf(change);
    }
  } finally {
    watcher.leave();
  }
}

const NO_BYTES = new Uint8Array();

/** The event of a change, encoded once for all watchers. */
const eventOf = derivedOnce((change: ServedChange): WatchPodsEvent => {
  switch (change.kind) {
    case "added":
    case "modified": {
      const type = change.kind === "added" ? POD_EVENT_TYPE.ADDED : POD_EVENT_TYPE.MODIFIED;
      return { type, pod: encodedPod(change.now, "watch event pod") };
    }
    case "deleted":
      return { type: POD_EVENT_TYPE.DELETED, pod: writeMessage("Pod", goneServedPod(change.last)) };
    default:
      return change satisfies never;
  }
});

function requireSeen(seen: Reading<boolean>): void {
  if (!seen.get()) throw new GrpcError(GRPC_STATUS.FailedPrecondition, "Kubelet is initializing");
}

/** All pods in the order of their UIDs. */
function sortedPods(pods: NamedPods): readonly NamedPod[] {
  return pods.list().toSorted((a, b) => (a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1));
}

function encodedPod(pod: NamedPod, what?: string): Uint8Array {
  try {
    return writeMessage("Pod", servedPod(pod));
  } catch (error) {
    const failed = what === undefined ? "failed to marshal pod" : `error marshalling ${what}`;
    throw new GrpcError(GRPC_STATUS.Internal, `${failed}: ${messageOf(error)}`, error);
  }
}
