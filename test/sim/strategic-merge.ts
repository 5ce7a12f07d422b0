// pure
// Strategic merge patch as far as agents use it: lists by their keys, `$patch` directives.

type Tree = Record<string, unknown>;

/** Lists that are merged, with the field that identifies their elements; all others are replaced. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  conditions: "type",
  addresses: "type",
  podIPs: "ip",
  hostIPs: "ip",
  containers: "name",
  initContainers: "name",
  ephemeralContainers: "name",
  volumes: "name",
  env: "name",
  ownerReferences: "uid",
};

/** The value after the patch; `strategic` says whether lists are merged by their keys. */
export function applyMergePatch(value: unknown, patch: unknown, strategic: boolean): unknown {
  if (!isTree(patch)) return patch;
  if (strategic && patch["$patch"] === "replace") return withoutDirectives(patch);
  const result: Tree = isTree(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (strategic && key.startsWith("$")) continue;
    if (change === null) delete result[key];
    else if (strategic && Array.isArray(change))
      result[key] = mergeList(result[key], change, MERGE_KEYS[key]);
    else result[key] = applyMergePatch(result[key], change, strategic);
  }
  return result;
}

function mergeList(value: unknown, patch: readonly unknown[], key: string | undefined): unknown {
  const items = patch.filter(isTree);
  if (key === undefined || items.length < patch.length) return patch;
  // As the real one: a list that is not there yet is taken as it comes, directives and all.
  if (!Array.isArray(value)) return patch;
  const replace = items.some((item) => item["$patch"] === "replace");
  const merged = replace ? [] : [...(value as Tree[])];
  for (const item of items) {
    if (item["$patch"] === "replace") continue;
    const at = replace ? -1 : merged.findIndex((known) => known[key] === item[key]);
    if (item["$patch"] === "delete") {
      if (at >= 0) merged.splice(at, 1);
    } else if (at < 0) merged.push(applyMergePatch({}, item, true) as Tree);
    else merged[at] = applyMergePatch(merged[at], item, true) as Tree;
  }
  return merged;
}

function withoutDirectives(patch: Tree): Tree {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith("$")));
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
