/** The user's request to `up --control-plane`. */

import type { ClusterNodeRequest } from "./cluster-node.ts";

/** The options that shape the cluster; undefined where the user has none in mind. */
export interface ClusterChoices {
  /** Like `v1.37.2`. */
  readonly kubernetesVersion: string | undefined;
  /** Network of all pods, like `10.85.0.0/16`; each node gets a part of it. */
  readonly podCidr: string | undefined;
  readonly serviceCidr: string | undefined;
  /** Address of this machine at which the API server is reached. */
  readonly apiAddress: string | undefined;
  /** Address and port of all API servers together, which other control planes need to join. */
  readonly controlPlaneEndpoint: string | undefined;
  readonly imageRepository: string | undefined;
  /** A file with more of kubeadm's configuration. */
  readonly kubeadmConfig: string | undefined;
}

/** A control plane on this machine. */
export interface ControlPlaneRequest extends ClusterNodeRequest {
  readonly cluster: ClusterChoices;
}
