import type { Pod } from "../../../api/generated/types.ts";
import type { KindDeps } from "../kind.ts";
import type { KeySelection } from "../payloads.ts";

/** A projected part: files from one object. */
export interface PartRequest {
  readonly pod: Pod;
  readonly name: string;
  readonly keys: KeySelection;
  readonly deps: KindDeps;
  readonly signal: AbortSignal;
}
