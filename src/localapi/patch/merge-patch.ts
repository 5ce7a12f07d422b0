// pure
import { isTree, type Tree } from "../api-object.ts";

/** The value after a JSON merge patch (RFC 7386): null removes, lists are replaced. */
export function applyMergePatch(value: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch;
  const result: Record<string, unknown> = isTree(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else setOwn(result, key, applyMergePatch(result[key], change));
  }
  return result;
}

/** Sets a field whatever its name is; `__proto__` is a name like any other. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** A field of the object itself, not of what all objects inherit. */
export function ownField(tree: Tree, key: string): unknown {
  return Object.hasOwn(tree, key) ? tree[key] : undefined;
}
