// pure

import type { Container } from "../generated/types.ts";
import { fnv1a32 } from "../text/fnv.ts";

/** Go's `encoding/json` escapes these even in plain strings. */
const GO_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["<", "\\u003c"],
  [">", "\\u003e"],
  ["&", "\\u0026"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
]);

/** `JSON.stringify` with the escapes of Go. */
const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => GO_ESCAPES.get(c) ?? c);

/**
 * The hash of what makes a container need a new start, as lower case hex without padding: name and
 * image, nothing else. Same as the annotation `io.kubernetes.container.hash` of the Go kubelet, so that
 * containers started by one agent are recognised by the other.
 */
export function containerHash(container: Pick<Container, "name" | "image">): string {
  const json = goJson({ image: container.image ?? "", name: container.name });
  const bytes = new TextEncoder().encode(json);
  return fnv1a32(`([]uint8)[${bytes.join(" ")}]`).toString(16);
}
