import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readWireObject, WireFault } from "./read-object.ts";

const text = (value: string) => [...new TextEncoder().encode(value)];
const field = (number: number, content: readonly number[]) => [
  number * 8 + 2,
  content.length,
  ...content,
];
const number = (at: number, value: number) => [at * 8, value];
const object = (apiVersion: string, kind: string, raw: readonly number[]) =>
  Uint8Array.from([
    ...text("k8s\0"),
    ...field(1, [...field(1, text(apiVersion)), ...field(2, text(kind))]),
    ...field(2, raw),
  ]);
const known = (kind: string) => (["ConfigMap", "Pod"].includes(kind) ? kind : undefined);

test("`readWireObject` reads maps, times, quantities, embedded messages and bytes", () => {
  const metadata = [
    ...field(1, text("x")),
    ...field(3, []),
    ...field(8, number(1, 100)),
    ...field(11, [...field(1, text("a")), ...field(2, text("b"))]),
  ];
  const map = [
    ...field(1, metadata),
    ...field(2, [...field(1, text("k")), ...field(2, text("v"))]),
    ...field(3, [...field(1, text("b")), ...field(2, [0xff, 0x00])]),
  ];
  assert.deepEqual(readWireObject(object("v1", "ConfigMap", map), known), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "x", creationTimestamp: "1970-01-01T00:01:40Z", labels: { a: "b" } },
    data: { k: "v" },
    binaryData: { b: "/wA=" },
  });
  const amount = field(2, [...field(1, text("cpu")), ...field(2, field(1, text("100m")))]);
  const probe = field(10, [
    ...field(
      1,
      field(2, [...field(1, text("/")), ...field(2, [...number(1, 0), ...number(2, 80)])]),
    ),
    ...number(4, 5),
  ]);
  const container = [...field(1, text("c")), ...field(8, amount), ...probe];
  const volume = [...field(1, text("v")), ...field(2, field(1, field(1, text("/x"))))];
  const pod = field(2, [...field(1, volume), ...field(2, container), ...number(11, 1)]);
  assert.deepEqual(readWireObject(object("v1", "Pod", pod), known), {
    apiVersion: "v1",
    kind: "Pod",
    spec: {
      volumes: [{ name: "v", hostPath: { path: "/x" } }],
      containers: [
        {
          name: "c",
          resources: { requests: { cpu: "100m" } },
          livenessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 5 },
        },
      ],
      hostNetwork: true,
    },
  });
});

test("`readWireObject` refuses what is not an object, whatever the bytes are", () => {
  assert.throws(() => readWireObject(new Uint8Array(), known), WireFault);
  assert.throws(() => readWireObject(object("v1", "Secret", []), known), /unknown kind "Secret"/);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (noise) => {
      try {
        readWireObject(object("v1", "Pod", [...noise]), known);
      } catch (error) {
        assert.ok(error instanceof WireFault || error instanceof SyntaxError, String(error));
      }
    }),
  );
});
