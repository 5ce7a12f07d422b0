// pure
/** What a plan leaves in the record, to be shown in the status until the next one. */
import type { PodRecord, Wait } from "./record.ts";

/** The record with what its plan leaves to be shown. */
export function withPlan(record: PodRecord, { waits, standing, actions }: Planned): PodRecord {
  const { held: _, ...lastPlan } = record.lastPlan;
  const held = heldWaits(record, actions);
  return {
    ...record,
    lastPlan: {
      ...lastPlan,
      waits,
      standing,
      ...(held.length > 0 ? { held: Object.fromEntries(held) } : {}),
    },
  };
}

/** What the record keeps of a plan. */
interface Planned extends Pick<PodRecord["lastPlan"], "waits" | "standing"> {
  readonly actions: readonly { readonly kind: string; readonly name?: string }[];
}

function heldWaits(
  { lastPlan: { waits, held = {} } }: PodRecord,
  actions: Planned["actions"],
): readonly (readonly [string, Wait])[] {
  return actions.flatMap(({ kind, name }) => {
    if (kind !== "startContainer" || name === undefined) return [];
    const wait = waits[name] ?? held[name];
    return wait ? [[name, wait] as const] : [];
  });
}
