import { writeTar } from "../../src/cli/local-images/tar.ts";

/** An input for which a decoder once did what it must not do. */
export interface PastFind {
  readonly target: string;
  /** As seeds are written: text, or base64. */
  readonly input: string | (() => string);
  /** What the decoder did. */
  readonly was: string;
}

/** An archive whose first entry has this size, with the right sum. */
function archiveOfSize(size: string): string {
  const archive = Buffer.from(
    writeTar([{ kind: "file", path: "manifest.json", content: Buffer.alloc(0) }]),
  );
  archive.write(size.padEnd(12, "\0"), 124, "latin1");
  archive.fill(0x20, 148, 156);
  let sum = 0;
  for (const byte of archive.subarray(0, 512)) sum += byte;
  archive.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return archive.toString("base64");
}

/** A field of protobuf with a length of at most 2^21. */
function ownField(number: number, content: Uint8Array): Uint8Array {
  const { length } = content;
  const head = [
    number * 8 + 2,
    (length & 0x7f) | 0x80,
    ((length >> 7) & 0x7f) | 0x80,
    length >> 14,
  ];
  return Buffer.concat([Buffer.from(head), content]);
}

/** A message of the API in its binary form, of a kind, with this content. */
function wire(kind: string, content: Uint8Array): string {
  const type = Buffer.concat([ownField(1, Buffer.from("v1")), ownField(2, Buffer.from(kind))]);
  const parts = [Buffer.from("k8s\0"), ownField(1, type), ownField(2, content)];
  return Buffer.concat(parts).toString("base64");
}

/** All of them, oldest first. */
export const FINDS: readonly PastFind[] = [
  {
    target: "image-archive",
    input: () => archiveOfSize("-1000"),
    was: "read the same header for ever",
  },
  {
    target: "image-archive",
    input: () => archiveOfSize("-7"),
    was: "RangeError for a size below 0",
  },
  {
    target: "objects-protobuf",
    input: () => wire("Pod", ownField(2, ownField(14, ownField(4, Buffer.alloc(200_000))))),
    was: "RangeError for spec.securityContext.supplementalGroups of 200,000 numbers",
  },
  {
    target: "credential-provider-answer",
    input: () =>
      JSON.stringify({
        apiVersion: "credentialprovider.kubelet.k8s.io/v1",
        kind: "k".repeat(200_000),
      }),
    was: "the error quoted the whole kind",
  },
  {
    target: "managed-fields",
    input: '{".":{}}',
    was: "the whole object became a field that the next apply would remove",
  },
  {
    target: "server-side-apply",
    input: JSON.stringify({
      value: {
        metadata: {
          managedFields: [
            {
              manager: "m",
              operation: "Apply",
              apiVersion: "v1",
              fieldsType: "FieldsV1",
              fieldsV1: { "f:metadata": {} },
            },
          ],
        },
        spec: { containers: [] },
      },
      patch: { spec: { containers: [] } },
    }),
    was: "TypeError where a manager gave up the metadata as a whole",
  },
  {
    target: "pulled-images",
    input:
      '{"kind":"ImagePulledRecord","imageRef":"a","credentialMapping":{"__proto__":{"nodePodsAccessible":true}}}',
    was: "a repository named __proto__ became what all others inherit from",
  },
  {
    target: "strategic-patch",
    input: '{"value":{},"patch":{"$patch":{}}}',
    was: "[object Object] in a message",
  },
  {
    target: "credential-providers",
    input:
      '{"kind":"CredentialProviderConfig","providers":[{"name":"a","tokenAttributes":{"cacheType":9223372036854775808}}]}',
    was: "TypeError for a number beyond 2^53 in a message",
  },
  {
    target: "credential-provider-answer",
    input: '{"kind":"CredentialProviderResponse","apiVersion":{}}',
    was: "[object Object] in a message",
  },
  {
    target: "credential-providers",
    input: '{"kind":"CredentialProviderConfig","apiVersion":{"toString":{}},"providers":null}',
    was: "TypeError for a version that is an object",
  },
  {
    target: "image-times",
    input: '{"format":1,"images":[{"id":"a","firstDetectedMs":1,"lastUsedMs":-0,"pullMs":1e999}]}',
    was: "times that are read otherwise once they were written",
  },
];
