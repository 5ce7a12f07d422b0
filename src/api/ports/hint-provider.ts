/** What the topology of admission asks of those who manage resources of NUMA nodes: devices, CPUs, memory. */

import type { NodeMask } from "../node/numa.ts";
import type { IdentifiedPod } from "../pod-identity.ts";
import type { ResourceGrant } from "../resource-grant.ts";

/** One set of nodes from which a request can be met. */
export interface Hint {
  /** `undefined`: no matter where. */
  readonly mask: NodeMask | undefined;
  /** Whether no narrower set could do. */
  readonly preferred: boolean;
}

/** Hints of one resource; `any` is no preference, an empty list means that the request cannot be met anywhere. */
export type Hints = "any" | readonly Hint[];

/** NUMA nodes by container; without an entry, or where it is `undefined`, placement does not matter. */
export type NumaPlacement = ReadonlyMap<string, NodeMask | undefined>;

/** Containers whose resources are all where they are best off, so that no other nodes will do. */
export type PreferredContainers = ReadonlySet<string>;

/** A request cannot be met now, or not at all; the provider's `grant` says why. */
export type Unmet = "later" | "refused";

/** The allocation of a pod while it is worked out, container after container; nothing of it is kept. */
export interface HintDraft {
  /** Containers that request what the provider manages. */
  readonly containers: ReadonlySet<string>;
  /** Hints of what the container needs, a list for each resource; empty when it needs nothing. */
  hints(container: string): readonly Hints[] | Unmet;
  /** Hints of what all containers need together (`topologyManagerScope: pod`). */
  podHints(): readonly Hints[] | Unmet;
  /** Takes what the container needs, close to these nodes, so that later hints are without it. */
  place(container: string, mask: NodeMask | undefined, preferred: boolean): Unmet | undefined;
}

/** Who manages one kind of resources. */
export interface HintProvider {
  /** Whether a pod that runs is granted what it requests by now: what it has stays with it as far as it can. */
  readonly resizes?: boolean;
  /**
   * Of all containers, or `only` of one that starts once more and keeps what it has. `undefined` when nothing is
   * to be placed: the pod requests nothing, or its allocation is under way.
   */
  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined;
  /** Allocates what all containers request, or nothing; called again it continues where it was. */
  grant(
    pod: IdentifiedPod,
    placement: NumaPlacement,
    preferred: PreferredContainers,
  ): Promise<ResourceGrant>;
}
