// pure
/** What a plan leaves in the record, to be shown in the status until the next one. */
import type { PodRecord, Wait } from "./record.ts";

/** The record with what its plan leaves to be shown. */
export function withPlan(record: PodRecord, { waits, standing, actions }: Planned): PodRecord {
  const { earlierWaits: _, ...lastPlan } = record.lastPlan;
  const earlier = earlierWaitsOf(record, actions);
  return {
    ...record,
    lastPlan: {
      ...lastPlan,
      waits,
      standing,
      ...(earlier.length > 0 ? { earlierWaits: Object.fromEntries(earlier) } : {}),
    },
  };
}

/** What the record keeps of a plan. */
interface Planned extends Pick<PodRecord["lastPlan"], "waits" | "standing"> {
  readonly actions: readonly { readonly kind: string; readonly name?: string }[];
}

/** Why the containers that are now to be started have waited so far. */
function earlierWaitsOf(
  { lastPlan: { waits, earlierWaits = {} } }: PodRecord,
  actions: Planned["actions"],
): readonly (readonly [string, Wait])[] {
  return actions.flatMap(({ kind, name }) => {
    if (kind !== "startContainer" || name === undefined) return [];
    const wait = waits[name] ?? earlierWaits[name];
    return wait ? [[name, wait] as const] : [];
  });
}
