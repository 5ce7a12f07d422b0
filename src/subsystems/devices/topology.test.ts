import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Device } from "./inventory.ts";
import {
  align,
  deviceHints,
  type Hint,
  type Hints,
  maskOf,
  type TopologyPolicy,
  type TopologySettings,
} from "./topology.ts";

const settings = (policy: TopologyPolicy, nodes: readonly number[] = [0, 1]): TopologySettings => ({
  policy,
  scope: "container",
  nodes,
});

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
    expect: [hint(2, true)],
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
    assert.deepEqual(deviceHints(request, settings("best-effort")), expect);
  });
}

interface AlignRow {
  readonly name: string;
  readonly hints: readonly Hints[];
  /** Result of each policy: a mask, `any` or `refused`. */
  readonly expect: Readonly<Record<Exclude<TopologyPolicy, "none">, number | "any" | "refused">>;
}

const ALIGN_ROWS: readonly AlignRow[] = [
  {
    name: "nothing to align",
    hints: [],
    expect: { "best-effort": 3, restricted: 3, "single-numa-node": "any" },
  },
  {
    name: "no matter where",
    hints: ["any"],
    expect: { "best-effort": 3, restricted: 3, "single-numa-node": "any" },
  },
  {
    name: "nowhere",
    hints: [[]],
    expect: { "best-effort": 3, restricted: "refused", "single-numa-node": "refused" },
  },
  {
    name: "either node: the lower",
    hints: [[hint(1, true), hint(2, true), hint(3, false)]],
    expect: { "best-effort": 1, restricted: 1, "single-numa-node": 1 },
  },
  {
    name: "two resources meet on node 1",
    hints: [
      [hint(1, true), hint(2, true), hint(3, false)],
      [hint(2, true), hint(3, false)],
    ],
    expect: { "best-effort": 2, restricted: 2, "single-numa-node": 2 },
  },
  {
    name: "two resources on different nodes",
    hints: [
      [hint(1, true), hint(3, false)],
      [hint(2, true), hint(3, false)],
    ],
    expect: { "best-effort": 1, restricted: "refused", "single-numa-node": "refused" },
  },
  {
    name: "both nodes needed, which is the best there is",
    hints: [[hint(3, true)]],
    expect: { "best-effort": 3, restricted: 3, "single-numa-node": "refused" },
  },
  {
    name: "both nodes needed because of others",
    hints: [[hint(3, false)]],
    expect: { "best-effort": 3, restricted: "refused", "single-numa-node": "refused" },
  },
];

for (const { name, hints, expect } of ALIGN_ROWS) {
  for (const [policy, expected] of Object.entries(expect)) {
    test(`align: ${policy}: ${name}`, () => {
      const result = align(hints, settings(policy as TopologyPolicy));
      const shown = result.kind === "refused" ? "refused" : (result.mask ?? "any");
      assert.equal(shown, expected);
    });
  }
}

test("align: none ignores topology", () => {
  assert.deepEqual(align([[]], settings("none")), { kind: "admitted", mask: undefined });
});

test("align takes the wanted number of nodes rather than fewer when nothing is preferred", () => {
  const four = settings("best-effort", [0, 1, 2, 3]);
  const hints: readonly Hints[] = [
    [hint(0b0011, false), hint(0b0111, false), hint(0b1111, false)],
    [hint(0b0110, false), hint(0b0111, false), hint(0b1111, false)],
  ];
  assert.deepEqual(align(hints, four), { kind: "admitted", mask: 0b0011 });
});

test("align does not try all combinations of eight resources on eight nodes", () => {
  const eight = settings("best-effort", [0, 1, 2, 3, 4, 5, 6, 7]);
  const all: readonly Hint[] = Array.from({ length: 255 }, (_, i) => hint(i + 1, i < 8));
  const result = align(
    Array.from({ length: 8 }, () => all),
    eight,
  );
  assert.deepEqual(result, { kind: "admitted", mask: 1 });
});

test("a hint is always met by the available devices it covers", () => {
  const device = fc.tuple(fc.subarray([0, 1, 2]), fc.boolean());
  fc.assert(
    fc.property(
      fc.array(device, { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 1, max: 4 }),
      (list, amount) => {
        const three = settings("restricted", [0, 1, 2]);
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
