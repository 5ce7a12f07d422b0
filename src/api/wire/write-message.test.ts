import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { UnwritableValue, writeMessage } from "./write-message.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const text = (value: string) => Buffer.from(value).toString("hex");

/** Type, object, and the bytes that `protoc --encode` gives for it. */
const VECTORS: readonly (readonly [string, string, object, string])[] = [
  ["nothing", "Pod", {}, ""],
  ["fields that the type does not have", "Pod", { apiVersion: "v1", kind: "Pod", x: 1 }, ""],
  ["texts", "ObjectMeta", { name: "a", namespace: "b" }, `0a01${text("a")}1a01${text("b")}`],
  ["an empty text that is set", "PodSpec", { runtimeClassName: "" }, "ea0100"],
  ["a negative number", "PodSpec", { priority: -1 }, "c801ffffffffffffffffff01"],
  ["a number beyond 2^53", "ObjectMeta", { generation: 2n ** 63n - 1n }, "38ffffffffffffffff7f"],
  ["yes and no", "PodSpec", { hostNetwork: true, hostUsers: false }, "5801a80200"],
  [
    "numbers of a list, one by one",
    "PodSecurityContext",
    { supplementalGroups: [1, 300] },
    "200120ac02",
  ],
  [
    "a map, in the order of its keys",
    "ObjectMeta",
    { labels: { b: "2", a: "" } },
    `5a050a01${text("a")}1200` + `5a060a01${text("b")}1201${text("2")}`,
  ],
  [
    "a quantity",
    "PodSpec",
    { overhead: { cpu: "1" } },
    `82020a0a03${text("cpu")}12030a01${text("1")}`,
  ],
  [
    "a time",
    "ObjectMeta",
    { creationTimestamp: "1970-01-01T00:01:40Z", deletionTimestamp: null },
    "420408641000",
  ],
  [
    "a time before 1970, in micro seconds",
    "CoreEvent",
    { eventTime: "1969-12-31T23:59:59.500000Z" },
    "52" + "11" + "08ffffffffffffffffff01" + "1080cab5ee01",
  ],
  ["a port by number", "HTTPGetAction", { port: 80 }, "1206080010501a00"],
  ["a port by name", "HTTPGetAction", { port: "x" }, `1207080110001a01${text("x")}`],
  [
    "fields of a message that is embedded",
    "Volume",
    { name: "v", hostPath: { path: "/" } },
    `0a01${text("v")}12050a030a01${text("/")}`,
  ],
];

for (const [name, type, object, expected] of VECTORS)
  test(`writeMessage: ${name}`, () => {
    assert.equal(hex(writeMessage(type, object)), expected);
  });

const WRONG: readonly (readonly [object, RegExp])[] = [
  [{ metadata: { name: 1 } }, /1 is no text/],
  [{ metadata: { generation: "x" } }, /"x" is no whole number/],
  [{ metadata: { creationTimestamp: "yesterday" } }, /"yesterday" is no time/],
  [{ metadata: [] }, /\[\] is no object/],
  [{ spec: { containers: {} } }, /\{\} is no list/],
];

for (const [object, message] of WRONG)
  test(`writeMessage refuses ${JSON.stringify(object)}`, () => {
    assert.throws(
      () => writeMessage("Pod", object),
      (error) => error instanceof UnwritableValue && message.test(error.message),
    );
  });

test("writeMessage: a pod with every field is, byte for byte, what Go's encoder makes of it", () => {
  const folder = join(import.meta.dirname, "../testdata/wire");
  const pod = JSON.parse(readFileSync(join(folder, "core.v1.Pod.json"), "utf8")) as object;
  const go = Buffer.from(readFileSync(join(folder, "core.v1.Pod.pb.base64"), "utf8"), "base64");
  assert.equal(hex(writeMessage("Pod", pod)), hex(go));
});
