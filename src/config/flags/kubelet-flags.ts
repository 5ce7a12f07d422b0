// pure
import type { DurationMs } from "../../api/text/duration.ts";
import { durationMs } from "../../api/text/duration.ts";
import type { TextMap } from "../kubelet-config.ts";

/** Settings that exist only as flags, since they belong to one node or never change. */
export interface KubeletFlags {
  /** Path of the main configuration file; empty means none. */
  readonly config: string;
  /** Folder of drop-in files; empty means none. */
  readonly configDir: string;
  /** Path of the kubeconfig; empty means a node without a cluster. */
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly hostnameOverride: string;
  /** One address or two of different families, comma between. */
  readonly nodeIP: string;
  readonly nodeLabels: TextMap;
  readonly certDir: string;
  readonly rootDir: string;
  /** Empty or `external`. */
  readonly cloudProvider: string;
  readonly runtimeCgroups: string;
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
  /** File with rules for keeping images; empty means none. Only in nodelet. */
  readonly imagePolicy: string;
  readonly lockFile: string;
  readonly exitOnLockContention: boolean;
  readonly minimumContainerTTLDuration: DurationMs;
  readonly maximumDeadContainersPerContainer: number;
  /** Negative: no limit. */
  readonly maximumDeadContainers: number;
  readonly registerSchedulable: boolean;
  readonly experimentalMounterPath: string;
  readonly experimentalAllocatableIgnoreEviction: boolean;
  readonly housekeepingInterval: DurationMs;
  readonly maxHousekeepingInterval: DurationMs;
  /** Not of the kubelet: `Protected`, or `Reference` for events exactly as the kubelet treats them. */
  readonly eventMode: string;
  /** How long a pod waits for a device plugin that is known but not there; zero refuses at once. */
  readonly deviceWait: DurationMs;
  /** How long a device plugin may take to answer Allocate; zero is no limit. */
  readonly deviceAllocateTimeout: DurationMs;
  /** Devices that only init containers needed stay with the pod until it ends. */
  readonly keepInitDevices: boolean;
  /** Processes that timed-out exec probes leave in their containers keep running. */
  readonly keepProbeLeftovers: boolean;
  /** Attempts per second of all probes with periods of their own; at least 1. */
  readonly fineProbeRate: number;
  /** `host:port` of Node's inspector on loopback; empty for none. Only in nodelet. */
  readonly inspect: string;
  /** `address:port` of the page of the node; empty for none. Only in nodelet. */
  readonly page: string;
  /** `false`, `true`, `raw`, or a version to report such as `v1.37.1`. */
  readonly version: string;
  readonly help: boolean;
}

/** The flags when none is given. Source: NewKubeletFlags of Kubernetes 1.37. */
export const DEFAULT_FLAGS: KubeletFlags = {
  config: "",
  configDir: "",
  kubeconfig: "",
  bootstrapKubeconfig: "",
  hostnameOverride: "",
  nodeIP: "",
  nodeLabels: {},
  certDir: "/var/lib/kubelet/pki",
  rootDir: "/var/lib/kubelet",
  cloudProvider: "",
  runtimeCgroups: "",
  imageCredentialProviderConfig: "",
  imageCredentialProviderBinDir: "",
  imagePolicy: "",
  lockFile: "",
  exitOnLockContention: false,
  minimumContainerTTLDuration: durationMs(0),
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  registerSchedulable: true,
  experimentalMounterPath: "",
  experimentalAllocatableIgnoreEviction: false,
  housekeepingInterval: durationMs(10_000),
  maxHousekeepingInterval: durationMs(15_000),
  eventMode: "Protected",
  deviceWait: durationMs(120_000),
  deviceAllocateTimeout: durationMs(30_000),
  keepInitDevices: false,
  keepProbeLeftovers: false,
  fineProbeRate: 200,
  inspect: "",
  page: "",
  version: "false",
  help: false,
};
