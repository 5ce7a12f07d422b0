// pure

import { derivedOncePerText } from "../../kit/derived-once.ts";
import type { Container } from "../generated/types.ts";
import { fnv1a32 } from "../text/fnv.ts";
import { goJson } from "../text/go-json.ts";

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
