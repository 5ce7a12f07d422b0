// pure
import type { ObjectMeta } from "./generated/types.ts";

/** The object of a claim for dynamic resource allocation, as far as a node reads it (resource.k8s.io/v1 ResourceClaim). */
export interface ResourceClaimObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly status?: {
    readonly allocation?: {
      readonly devices?: { readonly results?: readonly AllocatedDevice[] };
    };
    /** Who may use it. */
    readonly reservedFor?: readonly { readonly uid: string }[];
  };
}

/** A device that the claim was allocated; the node needs to know its driver only. */
interface AllocatedDevice {
  readonly driver: string;
  /** Calls of the node that the driver says it does without (gate DRAOptionalNodeOperations). */
  readonly skipNodeOperations?: readonly string[];
}
