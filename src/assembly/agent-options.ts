import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { Reading } from "../kit/cell.ts";
import type { StateFiles } from "../kit/state/state-files.ts";
import type { ClusterOptions } from "../node/cluster.ts";
import type { DeadContainerLimits } from "../pipeline/pipeline-options.ts";
import type { Admit } from "../pipeline/pods/admit.ts";
import type { PodSource } from "../pipeline/sources/sources.ts";
import type { StatusSink } from "../pipeline/status/status.ts";
import type { ServerOptions } from "../server/server.ts";
import type { EventApi, EventPolicy } from "../subsystems/events/events.ts";
import type { ImagePolicy } from "../subsystems/images/images.ts";
import type { ProbesOptions } from "../subsystems/probes/probes.ts";

/** How devices are treated, beside the configuration. */
export interface DeviceSettings {
  /** How long a pod waits for a plugin that is known but not there; 2 minutes, 0 as the Go kubelet. */
  readonly waitMs?: number;
  /** How long a plugin's `Allocate` may take; 30 s, 0 for ever as the Go kubelet. */
  readonly allocateMs?: number;
  /** Keeps devices that only init containers use with the pod until it ends, as in the Go kubelet. */
  readonly keepInitDevices?: boolean;
}

/** Image policy of the node's owner, beside the KubeletConfiguration. */
interface OwnImageSettings extends ImagePolicy {
  /** Home of the user that the agent runs as; docker's configuration may be there. */
  readonly home?: string;
  /** `--image-credential-provider-config` and `--image-credential-provider-bin-dir`. */
  readonly credentialPrograms?: { readonly configPath: string; readonly binFolder: string };
}

export interface AgentOptions {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  /** Folder of the agent's state (`--root-dir`). */
  readonly rootFolder: string;
  /** Grace period of orphaned pods, which run but no source names; `own` is that of each spec. */
  readonly orphanGraceSeconds?: number | "own";
  /** Stops pods that no source names and leaves containers, folders and volumes for the next agent. */
  readonly keepOrphans?: boolean;
  /** Ended attempts that are kept; default one of each container. */
  readonly deadContainers?: DeadContainerLimits;
  /** `--node-ip`, canonical: addresses of the node, primary first, or a family's `0.0.0.0` or `::`; else found. */
  readonly nodeIps?: readonly string[];
  /** How events are treated; steps of life are protected by default. */
  readonly events?: EventPolicy;
  /** How long pods wait for device plugins, and when devices are given back. */
  readonly devices?: DeviceSettings;
  /** Rules for keeping images, and where credentials for registries are. */
  readonly images?: OwnImageSettings;
  /** Limits of probes, where they differ from the usual ones. */
  readonly probes?: Partial<ProbesOptions>;
  /** Cgroup of the container runtime (`--runtime-cgroups`), whose usage is shown. */
  readonly runtimeCgroup?: string;
  /** Ports and socket; the agent serves nothing when left out. */
  readonly server?: ServerOptions & {
    /** Versions of nodelet and of the Kubernetes it follows, e.g. `0.1.0` and `v1.36.2`. */
    readonly versions: { readonly nodelet: string; readonly kubernetes: string };
  };
}

/** Extension points for embedders. */
export interface AgentHooks {
  /** Asked after the agent's own admission rules agreed. */
  readonly admit?: Admit;
  /** Pods beside those of the manifests. */
  readonly sources?: readonly PodSource[];
  /** Called for every status that changed. */
  readonly onStatus?: StatusSink;
  /** Destination of events beside the node's own history. */
  readonly eventApi?: EventApi;
  /** The cluster to be a node of; without it the node is on its own. */
  readonly cluster?: ClusterOptions;
  /** The API that the node itself serves, where it is its own cluster. */
  readonly ownApi?: {
    /** Why it does not run; undefined when it does. */
    readonly problem: Reading<string | undefined>;
    /** Whether the pod's object was lost to damage: what runs of such a pod is not ended. */
    isBrokenPod(namespace: string, name: string): boolean;
  };
  /** The state files, where some were opened before: by a caller that has locked the root folder (`lockRoot`). */
  readonly state?: StateFiles;
  /** Gives up starting; once the agent runs, disposing of it is what ends it. */
  readonly leave?: AbortSignal;
}
