/** Hints as a provider gave them while a pod was placed, and what they say of each set of NUMA nodes. */
import { countNodes, type NodeMask, nodesOf } from "../../api/node/numa.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type {
  HintDraft,
  HintProvider,
  Hints,
  NumaPlacement,
  PreferredContainers,
  Unmet,
} from "../../api/ports/hint-provider.ts";
import type { ResourceKind } from "../../api/ports/resource-kinds.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";

/** The hints of one kind of resources, a list for each resource. */
export interface KindHints {
  readonly kind: ResourceKind;
  readonly lists: readonly Hints[];
}

/** A set of NUMA nodes that was not chosen. */
export interface RefusedNodes {
  readonly nodes: readonly number[];
  readonly why: string;
}

/** Notes hints by container, those of the first time that it was placed; of the pod as a whole under ''. */
export class RecordedProvider implements HintProvider {
  readonly #kind: ResourceKind;
  readonly #inner: HintProvider;
  readonly #noted: Map<string, KindHints[]>;

  constructor(kind: ResourceKind, inner: HintProvider, noted: Map<string, KindHints[]>) {
    this.#kind = kind;
    this.#inner = inner;
    this.#noted = noted;
  }

  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined {
    const draft = this.#inner.draft(pod, only);
    if (!draft) return undefined;
    return {
      containers: draft.containers,
      hints: (container) => this.#note(container, draft.hints(container)),
      podHints: () => this.#note("", draft.podHints()),
      place: (container, mask, preferred) => draft.place(container, mask, preferred),
    };
  }

  grant(
    pod: IdentifiedPod,
    placement: NumaPlacement,
    preferred: PreferredContainers,
  ): Promise<ResourceGrant> {
    return this.#inner.grant(pod, placement, preferred);
  }

  #note(container: string, lists: readonly Hints[] | Unmet): readonly Hints[] | Unmet {
    if (typeof lists === "string" || lists.length === 0) return lists;
    const noted = this.#noted.get(container) ?? [];
    if (!noted.some(({ kind }) => kind === this.#kind))
      this.#noted.set(container, [...noted, { kind: this.#kind, lists }]);
    return lists;
  }
}

/** As `{0}+ {1}+ {0,1}-`: sets of nodes, with + where it is preferred. */
export function hintsText(hints: Hints, nodes: readonly number[]): string {
  if (hints === "any") return "anywhere";
  if (hints.length === 0) return "nowhere";
  return hints
    .map(({ mask, preferred }) => `${maskText(mask, nodes)}${preferred ? "+" : "-"}`)
    .join(" ");
}

function maskText(mask: NodeMask | undefined, nodes: readonly number[]): string {
  return mask === undefined ? "anywhere" : `{${nodesOf(mask, nodes).join(",")}}`;
}

/** Sets of nodes that some hint names and that were not chosen, each with the reason; `chosen` is undefined when none was. */
export function refusedNodes(
  hints: readonly KindHints[],
  chosen: NodeMask | undefined,
  nodes: readonly number[],
): readonly RefusedNodes[] {
  const lists = hints.flatMap((each) => each.lists);
  const named = new Set(
    lists.flatMap((list) => (list === "any" ? [] : list.flatMap(({ mask }) => mask ?? []))),
  );
  return [...named]
    .filter((mask) => mask !== chosen)
    .sort((a, b) => countNodes(a) - countNodes(b) || a - b)
    .map((mask) => ({ nodes: nodesOf(mask, nodes), why: whyNot(hints, mask, chosen) }));
}

function whyNot(hints: readonly KindHints[], mask: NodeMask, chosen: NodeMask | undefined): string {
  const opinion = (list: Hints) =>
    list === "any" ? "preferred" : opinionOf(list.filter((hint) => (hint.mask ?? mask) === mask));
  const ofKind = (what: string) =>
    hints
      .filter(({ lists }) => lists.some((list) => opinion(list) === what))
      .map(({ kind }) => kind)
      .join(" and ");
  const missing = ofKind("missing");
  if (missing !== "") return `not offered by ${missing}`;
  const other = ofKind("other");
  if (other !== "") return `not preferred by ${other}`;
  if (chosen === undefined) return "not allowed by the policy";
  if (countNodes(mask) > countNodes(chosen)) return "more nodes";
  return "as good; the closest, then the lowest nodes are taken";
}

function opinionOf(found: readonly { readonly preferred: boolean }[]): string {
  if (found.length === 0) return "missing";
  return found.some(({ preferred }) => preferred) ? "preferred" : "other";
}
