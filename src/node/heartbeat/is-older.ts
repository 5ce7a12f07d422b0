// pure
import type { ObjectMeta } from "../../api/generated/types.ts";

const VERSION = /^\d+$/;

interface Versioned {
  readonly metadata?: Pick<ObjectMeta, "uid" | "resourceVersion">;
}

/** Whether this is the same object as `known`, as it was before. Versions that are no numbers say nothing. */
export function isOlder({ metadata }: Versioned, known: Versioned | undefined): boolean {
  const [own = "", other = ""] = [metadata?.resourceVersion, known?.metadata?.resourceVersion];
  if (metadata?.uid !== known?.metadata?.uid) return false;
  return VERSION.test(own) && VERSION.test(other) && BigInt(own) < BigInt(other);
}
