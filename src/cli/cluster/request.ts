/** The user's request to `up --control-plane`. */

import type { ClusterChoices } from "../control-plane/settings.ts";
import type { ClusterNodeRequest } from "./cluster-node.ts";

/** A control plane on this machine. */
export interface ControlPlaneRequest extends ClusterNodeRequest {
  readonly cluster: ClusterChoices;
}
