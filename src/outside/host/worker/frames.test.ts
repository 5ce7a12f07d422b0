import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { encodeFrame, FrameReader } from "./frames.ts";

describe("FrameReader", () => {
  test("gives back what was sent, however the pipe cuts it", () => {
    const args = fc.array(
      fc.oneof(fc.string(), fc.uint8Array(), fc.constant(undefined), fc.bigInt()),
    );
    const message = fc.record({ id: fc.nat(), args }, { noNullPrototype: true });
    fc.assert(
      fc.property(
        fc.array(message),
        fc.infiniteStream(fc.integer({ min: 1, max: 50 })),
        (messages, cuts) => {
          const bytes = Buffer.concat(messages.map((each) => encodeFrame(each)));
          const reader = new FrameReader();
          const received: unknown[] = [];
          for (let at = 0; at < bytes.length; ) {
            const length = cuts.next().value as number;
            received.push(...reader.push(bytes.subarray(at, at + length)));
            at += length;
          }
          assert.deepEqual(received, messages);
        },
      ),
    );
  });

  test("refuses a frame that is too long before it takes it", () => {
    const header = Buffer.alloc(4);
    header.writeUInt32LE(65 * 1024 * 1024);
    assert.throws(() => new FrameReader().push(header), RangeError);
  });
});
