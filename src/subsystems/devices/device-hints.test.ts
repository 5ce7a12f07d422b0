import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { maskOf } from "../../api/node/numa.ts";
import type { Hint, Hints } from "../../api/ports/hint-provider.ts";
import { deviceHints } from "./device-hints.ts";
import type { Device } from "./inventory.ts";

/** Devices written as `id@node+node`. */
function devicesOf(text: string): ReadonlyMap<string, Device> {
  return new Map(
    text.split(" ").map((part) => {
      const [id = "", place] = part.split("@");
      return [id, { id, healthy: true, nodes: place ? place.split("+").map(Number) : [] }];
    }),
  );
}

interface HintRow {
  readonly name: string;
  readonly devices: string;
  readonly available: string;
  readonly reusable?: string;
  readonly amount: number;
  readonly expect: Hints;
}

const hint = (mask: number, preferred: boolean): Hint => ({ mask, preferred });

const HINT_ROWS: readonly HintRow[] = [
  {
    name: "no device says where it is",
    devices: "a b",
    available: "a b",
    amount: 1,
    expect: "any",
  },
  {
    name: "one on either node",
    devices: "a@0 b@1",
    available: "a b",
    amount: 1,
    expect: [hint(3, false), hint(2, true), hint(1, true)],
  },
  {
    name: "two on different nodes need both, and that is the best there ever is",
    devices: "a@0 b@1",
    available: "a b",
    amount: 2,
    expect: [hint(3, true)],
  },
  {
    name: "one node could do if it were free",
    devices: "a@0 b@0 c@1 d@1",
    available: "a c",
    amount: 2,
    expect: [hint(3, false)],
  },
  { name: "too few", devices: "a@0 b@1", available: "a", amount: 2, expect: [] },
  {
    name: "a device that must be reused is in every hint",
    devices: "a@0 b@1 c@1",
    available: "b c",
    reusable: "a",
    amount: 2,
    expect: [hint(3, false)],
  },
  {
    name: "a device of two nodes serves both",
    devices: "a@0+1 b@0",
    available: "a b",
    amount: 2,
    expect: [hint(3, false), hint(1, true)],
  },
  {
    name: "a node that the machine does not have is left out",
    devices: "a@7 b@1",
    available: "a b",
    amount: 1,
    expect: [hint(3, false), hint(2, true)],
  },
];

for (const { name, devices, available, reusable, amount, expect } of HINT_ROWS) {
  test(`deviceHints: ${name}`, () => {
    const request = {
      devices: devicesOf(devices),
      available: new Set(available.split(" ")),
      reusable: new Set(reusable?.split(" ") ?? []),
      amount,
    };
    assert.deepEqual(deviceHints(request, [0, 1]), expect);
  });
}

test("a hint is always met by the available devices it covers", () => {
  const device = fc.tuple(fc.subarray([0, 1, 2]), fc.boolean());
  fc.assert(
    fc.property(
      fc.array(device, { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 1, max: 4 }),
      (list, amount) => {
        const three = [0, 1, 2];
        const devices = new Map(
          list.map(([nodes], i) => [`d${i}`, { id: `d${i}`, healthy: true, nodes }]),
        );
        const available = new Set(list.flatMap(([, free], i) => (free ? [`d${i}`] : [])));
        const hints = deviceHints({ devices, available, reusable: new Set(), amount }, three);
        if (hints === "any") return;
        for (const { mask = 0 } of hints) {
          const covered = [...available].filter(
            (id) => (maskOf(devices.get(id)?.nodes ?? [], three) & mask) !== 0,
          );
          assert.ok(covered.length >= amount);
        }
      },
    ),
  );
});
