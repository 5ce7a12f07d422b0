import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyMergePatch } from "../../../test/sim/strategic-merge.ts";
import { isSame, STATUS_RULES, strategicDiff } from "./strategic-diff.ts";

const VECTORS = [
  { name: "nothing", before: { a: 1 }, now: { a: 1 }, patch: undefined },
  { name: "a value", before: { a: 1 }, now: { a: 2 }, patch: { a: 2 } },
  { name: "a value that goes", before: { a: 1, b: 1 }, now: { b: 1 }, patch: { a: null } },
  {
    name: "one of the conditions",
    before: {
      conditions: [
        { type: "Ready", status: "False", reason: "R" },
        { type: "Other", status: "True" },
      ],
    },
    now: {
      conditions: [
        { type: "Ready", status: "True" },
        { type: "Other", status: "True" },
      ],
    },
    patch: { conditions: [{ type: "Ready", status: "True", reason: null }] },
  },
  {
    name: "a condition that goes",
    before: { conditions: [{ type: "Ready", status: "False" }] },
    now: { conditions: [] },
    patch: { conditions: [{ $patch: "delete", type: "Ready" }] },
  },
  {
    name: "addresses",
    before: { addresses: [{ type: "InternalIP", address: "a" }] },
    now: {
      addresses: [
        { type: "InternalIP", address: "b" },
        { type: "InternalIP", address: "c" },
      ],
    },
    patch: {
      addresses: [
        { type: "InternalIP", address: "b" },
        { type: "InternalIP", address: "c" },
        { $patch: "replace" },
      ],
    },
  },
  {
    name: "container statuses",
    before: { containerStatuses: [{ name: "a", ready: false }] },
    now: { containerStatuses: [{ name: "a", ready: true }] },
    patch: { containerStatuses: [{ name: "a", ready: true }] },
  },
] as const;

for (const { name, before, now, patch } of VECTORS)
  test(`strategicDiff sends ${name}`, () => {
    assert.deepEqual(strategicDiff(before, now, STATUS_RULES), patch);
  });

const status = fc.record(
  {
    phase: fc.constantFrom("Pending", "Running"),
    message: fc.string(),
    capacity: fc.dictionary(fc.constantFrom("cpu", "memory", "pods"), fc.constantFrom("1", "2")),
    conditions: fc.uniqueArray(
      fc.record(
        {
          type: fc.constantFrom("A", "B", "C"),
          status: fc.constantFrom("True", "False"),
          reason: fc.string(),
        },
        { requiredKeys: ["type", "status"] },
      ),
      { selector: ({ type }) => type },
    ),
    podIPs: fc.uniqueArray(fc.record({ ip: fc.constantFrom("1", "2", "3") }), {
      selector: ({ ip }) => ip,
    }),
    containerStatuses: fc.array(
      fc.record({ name: fc.constantFrom("a", "b"), ready: fc.boolean() }),
    ),
  },
  { requiredKeys: [] },
);

test("strategicDiff, applied as the API applies it, gives what was wanted", () => {
  fc.assert(
    fc.property(status, status, (before, now) => {
      const patch = strategicDiff(before, now, STATUS_RULES);
      const after = applyMergePatch(before, patch ?? {}, true) as typeof now;
      const byType = (conditions: typeof now.conditions) =>
        [...(conditions ?? [])].sort((a, b) => (a.type < b.type ? -1 : 1));
      assert.ok(
        isSame(
          { ...after, conditions: byType(after.conditions) },
          { ...now, conditions: byType(now.conditions) },
        ),
        JSON.stringify({ before, now, patch, after }),
      );
    }),
  );
});

test("`strategicDiff` sends a list that is not there yet without directives, which the server would keep", () => {
  const podIPs = [{ ip: "192.0.2.1" }];
  assert.deepEqual(strategicDiff({}, { podIPs }, STATUS_RULES), { podIPs });
});
