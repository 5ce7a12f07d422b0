// pure

/**
 * A function that derives its result once for each object, for objects that are replaced and never changed. The result
 * is forgotten with its object; where `derive` throws, nothing is kept.
 */
export function derivedOnce<K extends object, V>(derive: (from: K) => V): (from: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (from) => {
    const found = known.get(from);
    if (found) return found.value;
    const value = derive(from);
    known.set(from, { value });
    return value;
  };
}

/** Texts whose results are kept; when there are more, it begins with none. */
const MAX_TEXTS = 1_000;

/** The same of texts, of which there are few different ones. */
export function derivedOncePerText<V>(derive: (from: string) => V): (from: string) => V {
  const known = new Map<string, { readonly value: V }>();
  return (from) => {
    const found = known.get(from);
    if (found) return found.value;
    const value = derive(from);
    if (known.size >= MAX_TEXTS) known.clear();
    known.set(from, { value });
    return value;
  };
}
