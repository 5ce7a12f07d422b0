import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Heap } from "./heap.ts";

test("Heap gives back what was put in, in order, however puts and takes mix", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 50 }))), (steps) => {
      const heap = new Heap<number>((a, b) => a < b);
      const model: number[] = [];
      for (const step of steps) {
        if (step === null) {
          model.sort((a, b) => a - b);
          assert.equal(heap.peek(), model[0]);
          assert.equal(heap.pop(), model.shift());
        } else {
          heap.push(step);
          model.push(step);
        }
        assert.equal(heap.size, model.length);
      }
    }),
  );
});
