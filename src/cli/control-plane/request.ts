/** The user's request to `up --control-plane`. */

import type { UpPaths } from "../up/paths.ts";
import type { RuntimeChoice } from "../up/runtime/find-runtime.ts";

/** The options that shape the cluster; undefined where the user has none in mind. */
export interface ClusterChoices {
  /** Like `v1.37.2`. */
  readonly kubernetesVersion: string | undefined;
  /** Network of all pods, like `10.85.0.0/16`; each node gets a part of it. */
  readonly podCidr: string | undefined;
  readonly serviceCidr: string | undefined;
  /** Address of this machine at which the API server is reached. */
  readonly apiAddress: string | undefined;
  readonly imageRepository: string | undefined;
  /** A file with more of kubeadm's configuration. */
  readonly kubeadmConfig: string | undefined;
  /** The program, or the folder that has it. */
  readonly kubeadm: string | undefined;
  /** Names of kubeadm's checks whose failure is accepted. */
  readonly ignorePreflightErrors: readonly string[];
}

/** A control plane on this machine. */
export interface ControlPlaneRequest {
  readonly paths: UpPaths;
  readonly containerd: RuntimeChoice;
  readonly ociRuntime: string | undefined;
  readonly agentFlags: readonly string[];
  readonly cluster: ClusterChoices;
  readonly timeoutMs: number;
}
