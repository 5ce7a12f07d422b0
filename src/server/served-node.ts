import type { ResourceAmounts } from "../api/pod/pod-resources.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { Reading } from "../kit/cell.ts";
import type { WallMs } from "../kit/clock.ts";
import type { HealthRegistry } from "../kit/health/health.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { StateFiles } from "../kit/state/state-files.ts";
import type { Files } from "../outside/host/host.ts";
import type { KubeClient } from "../outside/kube/kube.ts";
import type { Net } from "../outside/net/net.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { PodsView } from "../pipeline/pods/pods.ts";
import type { Eviction } from "../subsystems/eviction/eviction.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";

/** All that is known of one pod, as the pods module publishes it. */
export type PodView = ReturnType<PodsView["list"]>[number];

/** Capacity and allocatable resources of the node. */
export interface ServedResources {
  readonly capacity: ResourceAmounts;
  readonly allocatable: ResourceAmounts;
  /** Most pods at once. */
  readonly pods: number;
}

/** Whether the node is ready, and what of it is not. */
interface ServedReadiness {
  /** Empty when it is ready; `cause` is for people. */
  readonly problems: readonly {
    readonly kind: "runtime" | "network" | "shutdown" | "agent";
    readonly cause: string;
  }[];
  /** What is wrong with the runtime, also before that makes the node not ready. */
  readonly runtime: string | undefined;
}

/** The running agent as the server sees it. The server reads and changes nothing of it. */
export interface ServedNode {
  readonly nodeName: string;
  /** Of the processor, in Node's words: `x64`. */
  readonly architecture: string;
  /** Addresses of the node, primary first. */
  readonly addresses: readonly string[];
  readonly versions: {
    /** Of nodelet, e.g. `0.1.0`. */
    readonly nodelet: string;
    /** Kubernetes version of the kubelet it follows, e.g. `v1.36.2`. */
    readonly kubernetes: string;
    /** E.g. `containerd 1.6.20`. */
    readonly runtime: string;
  };
  readonly config: KubeletConfig;
  readonly startedAt: WallMs;
  readonly amounts: ServedResources;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  /** Whether the agent itself is well. */
  readonly health: HealthRegistry;
  readonly pipeline: Pipeline;
  readonly subsystems: Subsystems;
  readonly eviction: Pick<Eviction, "preview">;
  /** Why the node is not ready: the same that its object in the API follows from. */
  readonly readiness: () => ServedReadiness;
  /** Whether the machine is going down. */
  readonly shuttingDown: Reading<boolean>;
  /** The API that the node itself serves, where it is its own cluster; why it does not run. */
  readonly ownApi?: { readonly problem: Reading<string | undefined> };
  /** The API server of the node, where there is one. */
  readonly apiClient?: Pick<KubeClient, "get">;
  /** Problems with the agent's own files. */
  readonly state: StateFiles;
  /** Ways to read what components of a control plane on this node say of themselves. */
  readonly reach: { readonly net: Pick<Net, "http">; readonly files: Pick<Files, "readText"> };
}

/** Problem with what the node was given: a manifest, a list of devices. */
interface ServedProblem {
  readonly origin: string;
  readonly message: string;
}

/** All problems with what the node was given, manifests first. */
export function listProblems({ pipeline, subsystems }: ServedNode): readonly ServedProblem[] {
  return [...pipeline.sources.problems.get(), ...subsystems.devices.plugins.problems.get()];
}

/** The pod of that name; of several, one that is not being taken away. */
export function findPod(
  { pipeline }: ServedNode,
  namespace: string | undefined,
  name: string | undefined,
): PodView | undefined {
  const found = pipeline.pods
    .list()
    .filter(({ pod }) => pod.metadata?.namespace === namespace && pod.metadata?.name === name);
  return found.find(({ desired }) => !desired.removed) ?? found[0];
}
