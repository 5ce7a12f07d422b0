// pure

import { derivedOncePerText } from "../../kit/derived-once.ts";
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

/** Each plan and each observation asks for the hashes of all its containers, and a node has few different ones. */
const hashOfJson = derivedOncePerText((json) =>
  fnv1a32(`([]uint8)[${new TextEncoder().encode(json).join(" ")}]`).toString(16),
);

/**
 * The hash of what makes a container need a new start, as lower case hex without padding: name and
 * image, nothing else. Same as the annotation `io.kubernetes.container.hash` of the Go kubelet, so that
 * containers started by one agent are recognised by the other.
 */
export function containerHash({ name, image = "" }: Pick<Container, "name" | "image">): string {
  return hashOfJson(goJson({ image, name }));
}
