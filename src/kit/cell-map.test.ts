import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CellMap } from "./cell-map.ts";

const steps = fc.array(
  fc.record({
    key: fc.constantFrom("a", "b", "c"),
    value: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  }),
);

test("CellMap has the last value set, and notifies of changes only", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const map = new CellMap<string, number>();
      const model = new Map<string, number>();
      const reported: [string, number | undefined][] = [];
      const changes: [string, number | undefined][] = [];
      map.subscribe((key, value) => reported.push([key, value]));
      for (const { key, value } of all) {
        if (model.get(key) !== value) changes.push([key, value]);
        if (value === undefined) {
          map.delete(key);
          model.delete(key);
        } else {
          map.set(key, value);
          model.set(key, value);
        }
        assert.equal(map.get(key), value);
      }
      assert.deepEqual(map.values(), [...model.values()]);
      assert.deepEqual(reported, changes);
    }),
  );
});

test("CellMap compares by its own rule, and does not notify closed subscribers", () => {
  const map = new CellMap<string, { readonly at: number }>((a, b) => a.at === b.at);
  const reported: string[] = [];
  const leave = map.subscribe((key) => reported.push(key));
  const first = { at: 1 };
  map.set("a", first);
  map.set("a", { at: 1 });
  assert.equal(map.get("a"), first);
  leave();
  map.set("a", { at: 2 });
  assert.deepEqual(reported, ["a"]);
});
