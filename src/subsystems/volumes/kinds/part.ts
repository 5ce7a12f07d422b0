import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { KindDeps } from "../kind.ts";
import type { KeySelection } from "../payloads.ts";

/** A projected part: files from one object. */
export interface PartRequest {
  readonly pod: IdentifiedPod;
  readonly name: string;
  readonly keys: KeySelection;
  readonly deps: KindDeps;
  readonly signal: AbortSignal;
}
