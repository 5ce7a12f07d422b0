/** Pods that were encoded without an envelope, read by the reader that takes kubectl's requests. */
import type { Pod } from "../../src/api/generated/types.ts";
import { readWireObject } from "../../src/localapi/wire/read-object.ts";

const utf8 = (text: string) => Buffer.from(text, "utf8");

function field(number: number, content: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = content.length;
  for (; rest > 0x7f; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), content]);
}

/** The pod that the bytes hold, with `apiVersion` and `kind`. */
export function readPod(bytes: Uint8Array): Pod {
  const type = Buffer.concat([field(1, utf8("v1")), field(2, utf8("Pod"))]);
  const envelope = Buffer.concat([utf8("k8s\0"), field(1, type), field(2, bytes)]);
  return readWireObject(envelope, (kind) => kind) as Pod;
}
