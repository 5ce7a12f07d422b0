// pure
import { type LabelRequirements, matchesLabels } from "../../../api/text/labels.ts";
import { matchesName, registryOf } from "../image-names.ts";
import type { ImageRecord } from "../image-record.ts";

/** Rules of the node's owner for images that stay. */
export interface KeepRules {
  /** Patterns of names; `*` stands for anything, without tag they mean every tag. */
  readonly names: readonly string[];
  /** Selectors on the labels that an image was built with; one that matches is enough. */
  readonly labels: readonly LabelRequirements[];
  /** An image that a pod named within this time stays; 0 switches the rule off. */
  readonly wantedWithinMs: number;
  /** An image whose registry cannot be reached now stays. */
  readonly unreachableRegistries: boolean;
}

/** Inputs of the rules beside the image. */
export interface KeepFacts {
  readonly nowMs: number;
  /** The image's own labels; empty when not asked for. */
  readonly labels: Readonly<Record<string, string>>;
  /** The pod that last named it, and when. */
  readonly requested: { readonly atMs: number; readonly pod: string } | undefined;
  /** Registries that do not answer. */
  readonly unreachable: ReadonlySet<string>;
}

/** No rule at all. */
export const KEEP_NOTHING: KeepRules = {
  names: [],
  labels: [],
  wantedWithinMs: 0,
  unreachableRegistries: false,
};

/** Why an image stays, and by which rule. */
interface KeepReason {
  readonly rule: "kept by name" | "kept by label" | "wanted lately" | "registry unreachable";
  readonly detail: string;
}

/** The first rule that keeps the image, if one does. */
export function keepReason(
  rules: KeepRules,
  image: Pick<ImageRecord, "id" | "tags" | "digests">,
  facts: KeepFacts,
): KeepReason | undefined {
  const names = [...image.tags, ...image.digests];
  const pattern = rules.names.find((glob) => names.some((name) => matchesName(glob, name)));
  if (pattern !== undefined) return { rule: "kept by name", detail: pattern };
  if (rules.labels.some((selector) => matchesLabels(selector, facts.labels)))
    return { rule: "kept by label", detail: "its labels match" };
  const { requested } = facts;
  if (requested && rules.wantedWithinMs > 0 && facts.nowMs - requested.atMs < rules.wantedWithinMs)
    return { rule: "wanted lately", detail: requested.pod };
  if (rules.unreachableRegistries) {
    const registries = new Set(names.map(registryOf).filter((name) => name !== ""));
    const alive = [...registries].some((name) => !facts.unreachable.has(name));
    if (!alive)
      return { rule: "registry unreachable", detail: [...registries].join(", ") || "no registry" };
  }
  return undefined;
}

/** Registries that the rules need to know about; empty when no rule asks. */
export function registriesToTry(
  rules: KeepRules,
  images: Iterable<Pick<ImageRecord, "tags" | "digests">>,
): ReadonlySet<string> {
  const found = new Set<string>();
  if (!rules.unreachableRegistries) return found;
  for (const { tags, digests } of images)
    for (const name of [...tags, ...digests]) found.add(registryOf(name));
  found.delete("");
  return found;
}
