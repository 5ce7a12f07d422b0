// pure
import type { WallMs } from "../kit/clock.ts";
import type { Container } from "./generated/types.ts";
import type { ContainerKind } from "./pod/pod.ts";

/** One container or sidecar, as its probes must know it now; they are read from `spec`. */
export interface ProbeTarget {
  readonly spec: Container;
  readonly kind: Extract<ContainerKind, "regular" | "sidecar">;
  /** Id of the present attempt; `undefined` while there is none. */
  readonly containerId: string | undefined;
  readonly running: boolean;
  readonly startedAtMs: WallMs | undefined;
  /** `started` of the container's status: its startup probe succeeded, or it has none and runs. */
  readonly started: boolean;
  /** Known results of this attempt, when its probes start late. */
  readonly confirmed: { readonly startup: boolean; readonly readiness: boolean };
  /** While it does not run: not ended yet, or to be started again by rules, policy or as a sidecar. */
  readonly comesBack: boolean;
}
