// pure
import type { Pod } from "../generated/types.ts";

/** What keeps a pod from going on, where its status in the API has no place for it. */
export interface Blocked {
  /** One word, that of the event where there is one: `FailedMount`. */
  readonly reason: string;
  readonly message: string;
}

/** A pod as the agent's own socket shows it. */
export interface ShownPod extends Pod {
  readonly blocked?: Blocked;
}
