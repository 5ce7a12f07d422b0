/**
 * Topology: keeps what a pod gets close together, whoever manages it. In: the hints of all providers (devices, CPUs, memory).
 * Out: NUMA nodes for each container, which providers allocate by; or that the policy refuses the pod. Invariants:
 * containers are placed on drafts of all providers before any provider allocates; a pod that the policy refuses
 * gets nothing of any.
 *
 *     const topology = new Topology(settings, { providers: [devices], metrics, clock });
 *     const verdict = await topology.grant(pod);
 */

import { allContainers } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { hasPodAmounts } from "../../../api/pod-level.ts";
import type {
  HintProvider,
  NumaPlacement,
  PreferredContainers,
} from "../../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../../api/resource-grant.ts";
import type { TopologySettings } from "../../../config/topology.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { MetricsRegistry } from "../../../kit/metrics.ts";
import { type AlignmentMeasures, alignmentMeasures } from "./alignment-measures.ts";
import { placeContainers } from "./place.ts";

interface TopologyDeps {
  /** In the order in which they allocate. */
  readonly providers: readonly HintProvider[];
  readonly metrics: MetricsRegistry;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Where a pod's containers are placed, or that the policy refuses it. */
type Placing =
  | {
      readonly kind: "placed";
      /** As far as requests could be met; the provider of what could not refuses or defers the pod itself. */
      readonly placement: NumaPlacement;
      readonly preferred: PreferredContainers;
    }
  | Extract<ResourceGrant, { kind: "refused" }>;

/** Of a pod with amounts as a whole where the managers know such pods (NewPodLevelTopologyAffinityError). */
const WHOLE_POD = {
  container:
    "Pod Scope pod with pod-level resources failed admission with a container-level topology manager",
  pod: "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager",
};
const ANY_POD = "Resources cannot be allocated with Topology locality";

/** The topology manager; see above. */
export class Topology {
  readonly #settings: TopologySettings;
  readonly #providers: readonly HintProvider[];
  readonly #measures: AlignmentMeasures;

  constructor(settings: TopologySettings, { providers, metrics, clock }: TopologyDeps) {
    this.#settings = settings;
    this.#providers = providers;
    this.#measures = alignmentMeasures(metrics, clock, settings);
  }

  /** Places the pod and allocates what its containers request, provider after provider. */
  async grant(pod: IdentifiedPod): Promise<ResourceGrant> {
    for (const [i, provider] of this.#providers.entries()) {
      // What the provider before was waited for may have changed what there is: placed again, with what the pod has by now.
      const placing = this.#place(pod, { isFirst: i === 0 });
      if (placing.kind === "refused") return placing;
      const grant = await provider.grant(pod, placing.placement, placing.preferred);
      if (grant.kind !== "granted") return grant;
    }
    return { kind: "granted" };
  }

  /** What a pod that runs requests by now, of providers that can change what they gave; where one refuses it keeps what it had. */
  async resize(before: IdentifiedPod, pod: IdentifiedPod): Promise<ResourceGrant> {
    const able = this.#providers.filter(({ resizes }) => resizes);
    for (const [i, provider] of able.entries()) {
      const placing = this.#place(pod, { isFirst: false });
      const grant =
        placing.kind === "refused"
          ? placing
          : await provider.grant(pod, placing.placement, placing.preferred);
      if (grant.kind === "granted") continue;
      for (const other of able.slice(0, i)) await other.grant(before, new Map(), new Set());
      return grant;
    }
    return { kind: "granted" };
  }

  /** Places one container of a pod that was admitted before: it keeps what it has. */
  placeAgain(pod: IdentifiedPod, container: string): Placing {
    return this.#place(pod, { isFirst: false, only: container });
  }

  #place(
    pod: IdentifiedPod,
    { isFirst, only }: { readonly isFirst: boolean; readonly only?: string },
  ): Placing {
    const drafts =
      this.#settings.policy === "none"
        ? []
        : this.#providers.flatMap((provider) => provider.draft(pod, only) ?? []);
    if (drafts.length === 0) return { kind: "placed", placement: new Map(), preferred: new Set() };
    const containers = allContainers(pod)
      .map(({ container }) => container.name)
      .filter((name) => drafts.some((draft) => draft.containers.has(name)));
    const measured = isFirst ? this.#measures.begin(pod.metadata.uid) : undefined;
    const { outcome, placement, preferred } = placeContainers(containers, drafts, this.#settings);
    measured?.(outcome === "misaligned" ? "refused" : outcome, containers.length);
    return outcome === "misaligned"
      ? this.#misaligned(pod)
      : { kind: "placed", placement, preferred };
  }

  #misaligned(pod: IdentifiedPod): Placing {
    const { scope, knowsWholePods } = this.#settings;
    const message = knowsWholePods && hasPodAmounts(pod) ? WHOLE_POD[scope] : ANY_POD;
    return { kind: "refused", reason: "TopologyAffinityError", message };
  }
}
