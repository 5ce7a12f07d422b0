// pure
import type { NodeMask } from "../../../api/node/numa.ts";
import type {
  HintDraft,
  Hints,
  NumaPlacement,
  PreferredContainers,
  Unmet,
} from "../../../api/ports/hint-provider.ts";
import type { TopologySettings } from "../../../config/topology.ts";
import { appendAll } from "../../../kit/limits/lists.ts";
import { align } from "./align.ts";

/** Where containers are placed: all of them, or those before a request that a provider cannot meet, or the policy refuses. */
interface Placed {
  readonly outcome: "placed" | Unmet | "misaligned";
  readonly placement: NumaPlacement;
  readonly preferred: PreferredContainers;
}

/**
 * Merges the hints of all drafts for one container after the other, in the order in which they start, or once for
 * the pod; what one container takes is not hinted at for the next.
 */
export function placeContainers(
  containers: readonly string[],
  drafts: readonly HintDraft[],
  settings: TopologySettings,
): Placed {
  const placement = new Map<string, NodeMask | undefined>();
  const preferred = new Set<string>();
  let ofPod: ReturnType<typeof alignAll> | undefined;
  for (const container of containers) {
    const aligned =
      ofPod ??
      alignAll(
        drafts,
        (draft) => (settings.scope === "pod" ? draft.podHints() : draft.hints(container)),
        settings,
      );
    if (settings.scope === "pod") ofPod = aligned;
    if (typeof aligned === "string") return { outcome: aligned, placement, preferred };
    if (aligned.kind === "refused") return { outcome: "misaligned", placement, preferred };
    placement.set(container, aligned.mask);
    if (aligned.preferred) preferred.add(container);
    for (const draft of drafts) {
      const unmet = draft.place(container, aligned.mask, aligned.preferred);
      if (unmet) return { outcome: unmet, placement, preferred };
    }
  }
  return { outcome: "placed", placement, preferred };
}

/** Merges the hints of all drafts; of requests that cannot be met the first one counts. */
function alignAll(
  drafts: readonly HintDraft[],
  hintsOf: (draft: HintDraft) => readonly Hints[] | Unmet,
  settings: TopologySettings,
): ReturnType<typeof align> | Unmet {
  const all: Hints[] = [];
  for (const draft of drafts) {
    const hints = hintsOf(draft);
    if (typeof hints === "string") return hints;
    appendAll(all, hints);
  }
  return align(all, settings);
}
