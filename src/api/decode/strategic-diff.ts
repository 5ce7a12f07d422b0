// pure

import { isTree, type Tree } from "../../kit/json.ts";

/** How the elements of a list are identified; lists that are not named are replaced as a whole. */
interface DiffRules {
  /** Lists the API merges by this field: changed elements are sent, missing ones deleted. */
  readonly mergedBy: Readonly<Record<string, string>>;
  /** Lists the API would merge although their elements share keys: they are replaced by directive. */
  readonly replaced: readonly string[];
}

/** Of pods' and nodes' statuses (patchMergeKey tags of k8s.io/api/core/v1). */
export const STATUS_RULES: DiffRules = {
  mergedBy: { conditions: "type" },
  // Two addresses of one type are common; merging by type would lose one (kubernetes#79391).
  replaced: ["addresses", "podIPs", "hostIPs"],
};

/**
 * The strategic merge patch that makes `now` of `before`; undefined when there is nothing to change. What
 * others added beside what `before` shows is left alone by the server.
 */
export function strategicDiff(before: Tree, now: Tree, rules: DiffRules): Tree | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(before)) if (now[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(now)) {
    if (value === undefined) continue;
    const change = diffValue(key, before[key], value, rules);
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function diffValue(key: string, before: unknown, now: unknown, rules: DiffRules): unknown {
  if (isSame(before, now)) return undefined;
  if (isTree(before) && isTree(now)) return strategicDiff(before, now, rules);
  if (!Array.isArray(now)) return now;
  // When the API has no such list it takes ours as it is, with any directive in it.
  if (!Array.isArray(before)) return now;
  if (rules.replaced.includes(key)) return [...(now as unknown[]), { $patch: "replace" }];
  const mergeKey = rules.mergedBy[key];
  if (mergeKey === undefined) return now;
  return diffList(before as Tree[], now as Tree[], mergeKey, rules);
}

function diffList(
  before: readonly Tree[],
  now: readonly Tree[],
  mergeKey: string,
  rules: DiffRules,
): readonly Tree[] | undefined {
  const known = new Map(before.map((item) => [item[mergeKey], item]));
  const changed = now.flatMap((item) => {
    const change = strategicDiff(known.get(item[mergeKey]) ?? {}, item, rules);
    return change ? [{ ...change, [mergeKey]: item[mergeKey] }] : [];
  });
  const kept = new Set(now.map((item) => item[mergeKey]));
  const gone = before
    .filter((item) => !kept.has(item[mergeKey]))
    .map((item) => ({ $patch: "delete", [mergeKey]: item[mergeKey] }));
  const all = [...changed, ...gone];
  return all.length === 0 ? undefined : all;
}

/** Whether two JSON values are equal; undefined counts as missing. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && isSameList(a, b);
  return !Array.isArray(b) && isSameTree(a as Tree, b as Tree);
}

/** Statuses are compared often: no objects are allocated for it, and no function is called for equal fields. */
function isSameTree(a: Tree, b: Tree): boolean {
  for (const key in a) if (a[key] !== b[key] && !isSame(a[key], b[key])) return false;
  for (const key in b) if (a[key] === undefined && b[key] !== undefined) return false;
  return true;
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i] && !isSame(a[i], b[i])) return false;
  return true;
}
