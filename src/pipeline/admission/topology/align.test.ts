import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hint, Hints } from "../../../api/ports/hint-provider.ts";
import type { TopologyPolicy, TopologySettings } from "../../../config/topology.ts";
import { align } from "./align.ts";

const settings = (policy: TopologyPolicy, nodes: readonly number[] = [0, 1]): TopologySettings => ({
  policy,
  scope: "container",
  nodes,
});

const hint = (mask: number, preferred: boolean): Hint => ({ mask, preferred });

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
  assert.deepEqual(align([[]], settings("none")), {
    kind: "admitted",
    mask: undefined,
    preferred: false,
  });
});

test("align takes the wanted number of nodes rather than fewer when nothing is preferred", () => {
  const four = settings("best-effort", [0, 1, 2, 3]);
  const hints: readonly Hints[] = [
    [hint(0b0011, false), hint(0b0111, false), hint(0b1111, false)],
    [hint(0b0110, false), hint(0b0111, false), hint(0b1111, false)],
  ];
  assert.deepEqual(align(hints, four), {
    kind: "admitted",
    mask: 0b0011,
    preferred: false,
  });
});

test("align does not try all combinations of eight resources on eight nodes", () => {
  const eight = settings("best-effort", [0, 1, 2, 3, 4, 5, 6, 7]);
  const all: readonly Hint[] = Array.from({ length: 255 }, (_, i) => hint(i + 1, i < 8));
  const result = align(
    Array.from({ length: 8 }, () => all),
    eight,
  );
  assert.deepEqual(result, { kind: "admitted", mask: 1, preferred: true });
});
