import assert from "node:assert/strict";
import { test } from "node:test";
import { frameMessage, MessageReader } from "./messages.ts";

const MAX = 100;
const bytes = (text: string) => Buffer.from(text);
const texts = (messages: readonly Uint8Array[]) =>
  messages.map((each) => Buffer.from(each).toString());
const joined = Buffer.concat(["", "a", "bcd"].map((text) => frameMessage(bytes(text), MAX)));

test("frameMessage puts flag and length before the message", () => {
  assert.deepEqual(
    Buffer.from(frameMessage(bytes("abc"), MAX)).toString("hex"),
    "0000000003616263",
  );
  const long = frameMessage(new Uint8Array(0x1020304), 0x1020304);
  assert.deepEqual([...long.subarray(0, 5)], [0, 1, 2, 3, 4]);
  assert.throws(() => frameMessage(new Uint8Array(MAX + 1), MAX), { code: "exhausted" });
});

test("MessageReader gives the same messages whatever the pieces are", () => {
  for (let size = 1; size <= joined.length; size += 1) {
    const reader = new MessageReader(MAX);
    const read: string[] = [];
    for (let at = 0; at < joined.length; at += size)
      read.push(...texts(reader.push(joined.subarray(at, at + size))));
    assert.deepEqual(read, ["", "a", "bcd"]);
    assert.ok(reader.isAtEnd);
  }
});

test("MessageReader knows that a message is cut off", () => {
  const reader = new MessageReader(MAX);
  assert.deepEqual(texts(reader.push(joined.subarray(0, joined.length - 1))), ["", "a"]);
  assert.equal(reader.isAtEnd, false);
});

test("MessageReader refuses what is too long, before it has come, and what is compressed", () => {
  assert.throws(() => new MessageReader(MAX).push(Buffer.from([0, 0, 0, 0, MAX + 1])), {
    code: "exhausted",
    message: /received message larger than max \(101 vs\. 100\)/,
  });
  assert.throws(() => new MessageReader(MAX).push(Buffer.from([0, 0xff, 0xff, 0xff, 0xff])), {
    code: "exhausted",
  });
  assert.throws(() => new MessageReader(MAX).push(Buffer.from([1, 0, 0, 0, 1])), {
    message: /compressed/,
  });
});
