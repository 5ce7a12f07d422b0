// pure

/** An object with names, as JSON has them. */
export type Tree = { readonly [name: string]: unknown };

/** Whether `value` is an object with names, not a list, not null. */
export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sets a field whatever its name is; `__proto__` is a name like any other. */
export function setOwn(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** A field of the object itself, not of what all objects inherit. */
export function ownField(tree: Tree, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined;
}

/**
 * The value after a JSON merge patch (RFC 7386): objects are merged name by name, everything else, lists included,
 * replaces what was there, and `null` takes it away.
 */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch;
  const result: Tree = isTree(value) ? { ...value } : {};
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) Reflect.deleteProperty(result, name);
    else setOwn(result, name, mergePatch(ownField(result, name), change));
  }
  return result;
}

/** `JSON.rawJSON` of ECMAScript, which the types do not name yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** JSON of a value in which whole numbers beyond 2^53 stand as `bigint`; they are written with all their digits. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_, part: unknown) =>
      typeof part === "bigint" ? rawJSON(part.toString()) : part,
    );
  }
}
