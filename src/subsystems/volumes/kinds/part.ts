import type { Pod } from "../../../api/generated/types.ts";
import type { KindDeps } from "../kind.ts";
import type { KeyOrder } from "../payloads.ts";

/** Files that are to come from one object. */
export interface PartOrder {
  readonly pod: Pod;
  readonly name: string;
  readonly keys: KeyOrder;
  readonly deps: KindDeps;
  readonly signal: AbortSignal;
}
