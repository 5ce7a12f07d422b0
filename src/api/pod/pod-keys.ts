// pure

import type { Pod } from "../generated/types.ts";
import { fnv1a128Hex } from "../text/fnv.ts";

/** Source of a static pod. */
export type StaticPodOrigin =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "url"; readonly url: string };

/** JSON with sorted keys: the same text for the same content, however it was written down. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/**
 * The UID of a static pod, 32 hex digits: the same for the same (defaulted) content from the same place,
 * across restarts of the agent. The Go kubelet hashes Go's memory layout instead, so the digits differ
 * from its own; nothing depends on them.
 */
export function staticPodUid(pod: Pod, nodeName: string, origin: StaticPodOrigin): string {
  const { metadata, spec } = pod;
  const place =
    origin.kind === "file" ? `host:${nodeName}file:${origin.path}` : `url:${origin.url}`;
  return fnv1a128Hex(stableJson({ metadata, spec }) + place);
}
