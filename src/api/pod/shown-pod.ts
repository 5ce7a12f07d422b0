// pure
import type { Pod } from "../generated/types.ts";

/** Why a pod does not progress, where its API status has no field for it. */
export interface Blocked {
  /** One word, that of the event where there is one: `FailedMount`. */
  readonly reason: string;
  readonly message: string;
}

/** A pod as the agent's own socket shows it. */
export interface ShownPod extends Pod {
  readonly blocked?: Blocked;
}
