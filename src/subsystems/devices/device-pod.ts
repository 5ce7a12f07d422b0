// pure
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";

/** A pod as the pipeline sees it. */
export interface DevicePod {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  /** Whether its spec comes from a source, and not from what the runtime remembers of it. */
  readonly known: boolean;
  /** Whether all of it was seen ended for good. */
  readonly ended: boolean;
  /** Whether its init containers are done, so that what they had beyond the others is not needed. */
  readonly initsDone: boolean;
  /** Containers with a living process. */
  readonly running: ReadonlySet<string>;
}
