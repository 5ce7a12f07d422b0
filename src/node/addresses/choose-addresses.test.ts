import assert from "node:assert/strict";
import { test } from "node:test";
import { type AddressFacts, chooseAddresses, needsDns } from "./choose-addresses.ts";

const V4 = "192.0.2.10";
const OTHER = "10.9.0.2";
const V6 = "2001:db8::10";
const FACTS: AddressFacts = {
  given: [],
  nodeName: "edge-1",
  named: [],
  found: [V4, V6, "172.17.0.1", OTHER],
};

/** Facts that differ from the default, and the addresses or the problem. */
const CHOICES: readonly (readonly [string, Partial<AddressFacts>, readonly string[] | RegExp])[] = [
  ["the default route's", {}, [V4]],
  ["IPv6 of the default route when it is preferred", { given: ["::"] }, [V6]],
  ["IPv4 when it is preferred", { given: ["0.0.0.0"], found: [V6, V4] }, [V4]],
  ["the other family when the preferred one is absent", { given: ["::"], found: [V4] }, [V4]],
  ["what was given", { given: [OTHER], named: [V4] }, [OTHER]],
  ["one of each family", { given: [V6, V4] }, [V6, V4]],
  [
    "not what is on another machine",
    { given: ["203.0.113.9"] },
    /failed to validate nodeIP: node IP: "203.0.113.9" not found in the host's network interfaces/,
  ],
  ["the name when it is an address", { nodeName: "203.0.113.9", named: [OTHER] }, ["203.0.113.9"]],
  ["what DNS says of the name", { named: [OTHER] }, [OTHER]],
  ["IPv4 of what DNS says", { named: [V6, OTHER] }, [OTHER]],
  ["IPv6 of what DNS says when it is preferred", { given: ["::"], named: [OTHER, V6] }, [V6]],
  ["what DNS says in the other family", { named: [V6] }, [V6]],
  ["not loopback, as /etc/hosts may say", { named: ["127.0.1.1", "::1"] }, [V4]],
  ["not what DNS says of another machine", { named: ["203.0.113.9"] }, [V4]],
  ["not the unspecified address", { named: ["0.0.0.0"] }, [V4]],
  ["none without interfaces", { found: [] }, /can't get ip address of node edge-1/],
];
for (const [name, change, expected] of CHOICES)
  test(`chooseAddresses: ${name}`, () => {
    const choice = chooseAddresses({ ...FACTS, ...change });
    if (expected instanceof RegExp)
      assert.match(choice.kind === "none" ? choice.problem : "chosen", expected);
    else assert.deepEqual(choice, { kind: "chosen", ips: expected });
  });

test("needsDns: only where neither flag nor name is an address", () => {
  const asks = (given: readonly string[], nodeName = "edge-1") => needsDns({ given, nodeName });
  assert.deepEqual(
    [asks([]), asks(["::"]), asks([V4]), asks([], V4), asks([], V6)],
    [true, true, false, false, false],
  );
});
