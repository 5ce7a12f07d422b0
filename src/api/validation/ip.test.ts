import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { formatProblem } from "../decode/field-problem.ts";
import { ipProblems } from "./ip.ts";

const reported = (text: string) => ipProblems("ip", text).map(formatProblem);
const NONE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

test("IP addresses", () => {
  for (const text of ["0.0.0.0", "255.255.255.255", "::", "::1", "1::", "2001:DB8::ffff"])
    assert.deepEqual(reported(text), [], text);
  for (const text of ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7.8.9.10", "::1.2.3.4"])
    assert.deepEqual(reported(text), [], text);
  for (const text of ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4:80", " 1.2.3.4", "a"])
    assert.deepEqual(reported(text), [`ip: Invalid value: ${JSON.stringify(text)}: ${NONE}`]);
  for (const text of [":::", "1:2", "1::2::3", "1:2:3:4:5:6:7:8::", "12345::", "fe80::1%eth0"])
    assert.deepEqual(reported(text), [`ip: Invalid value: "${text}": ${NONE}`]);
});

test("addresses that programs do not agree about are refused", () => {
  assert.deepEqual(reported("010.0.0.1"), [
    'ip: Invalid value: "010.0.0.1": must not have leading 0s',
  ]);
  assert.deepEqual(reported("::ffff:1.2.3.4"), [
    'ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
  ]);
});

test("what Node takes for an address is one, and nothing else", () => {
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.stringMatching(/^[0-9a-f:.]{0,20}$/),
    fc
      .array(fc.constantFrom("1", "ab", "0", ":", "::", "."), { maxLength: 15 })
      .map((t) => t.join("")),
  );
  fc.assert(
    fc.property(text, (address) => {
      const wrong = reported(address).some((problem) => problem.endsWith(NONE));
      // Node refuses leading zeros outright, with another message.
      const zeros = reported(address).some((problem) => problem.endsWith("leading 0s"));
      assert.equal(wrong || zeros, isIP(address) === 0);
    }),
    { numRuns: 2000 },
  );
});
