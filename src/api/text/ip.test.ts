import assert from "node:assert/strict";
import { isIPv4 as nodeIsIPv4, isIPv6 as nodeIsIPv6 } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { isIP, isIPv4, isIPv6 } from "./ip.ts";

const ADDRESSES = [
  "0.0.0.0",
  "127.0.0.1",
  "255.255.255.255",
  "256.0.0.1",
  "1.2.3",
  "1.2.3.4.5",
  "01.2.3.4",
  "1.2.3.4 ",
  "",
  "::",
  "::1",
  "1::",
  "fe80::1:2",
  "1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1::2::3",
  ":1",
  "1:",
  ":::",
  "::ffff:1.2.3.4",
  "::1.2.3.4",
  "1:2:3:4:5:6:1.2.3.4",
  "1:2:3:4:5:6:7:1.2.3.4",
  "1.2.3.4::",
  "::12345",
  "g::",
  "[::1]",
  "1:2:3:4:5:6:7::",
  "1:2:3:4:5:6:7:8::",
];

test("isIP agrees with the runtime's own judgement", () => {
  for (const text of ADDRESSES) {
    assert.equal(isIPv4(text), nodeIsIPv4(text), text);
    assert.equal(isIPv6(text), nodeIsIPv6(text), text);
  }
  const piece = fc.constantFrom("0", "1", "ffff", "::", ":", ".", "255", "256", "1.2.3.4", "g");
  const any = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join("")),
  );
  fc.assert(
    fc.property(any, (text) => {
      assert.equal(isIP(text), nodeIsIPv4(text) || nodeIsIPv6(text), text);
    }),
    { numRuns: 2000 },
  );
});
