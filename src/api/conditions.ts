// pure

/** What the conditions of pods, nodes and claims have in common. */
export interface Condition {
  readonly type: string;
  /** `True`, `False` or `Unknown`. */
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  /** RFC 3339; when `status` last changed. */
  readonly lastTransitionTime?: string;
}

/** The condition of a type. */
export const findCondition = <C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);

/** Whether the condition of a type is there and true. */
export const isConditionTrue = (
  conditions: readonly Condition[] | undefined,
  type: string,
): boolean => findCondition(conditions, type)?.status === "True";

const saysTheSame = (a: Condition, b: Condition): boolean => {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  keys.delete("lastTransitionTime");
  return [...keys].every((key) => a[key as keyof Condition] === b[key as keyof Condition]);
};

/**
 * The conditions with `next` in the place of the one of its type, or added. The transition time moves to
 * `now` (RFC 3339) only when the status changes. When nothing changes the very same array comes back.
 */
export function setCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  next: C,
  now: string,
): readonly C[] {
  const present = conditions ?? [];
  const at = present.findIndex(({ type }) => type === next.type);
  const before = present[at];
  if (before === undefined) return [...present, { ...next, lastTransitionTime: now }];
  if (saysTheSame(before, next)) return present;
  const kept = before.status === next.status ? before.lastTransitionTime : now;
  return present.with(at, { ...next, ...(kept === undefined ? {} : { lastTransitionTime: kept }) });
}

/** The conditions without the one of a type; the very same array when there is none. */
export function removeCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  const present = conditions ?? [];
  return present.some((condition) => condition.type === type)
    ? present.filter((condition) => condition.type !== type)
    : present;
}
