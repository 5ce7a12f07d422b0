import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "./guest-parts.ts";

test("parts have every name once, are of about one size, and each has some of every family", () => {
  const families = ["Pods", "Probing", "Secrets"];
  const names = families.flatMap((family) =>
    Array.from({ length: 40 }, (_, n) => `${family} ${n}`),
  );
  const parts = partsOf(names, 36);
  assert.deepEqual(parts.flat().sort(), names.toSorted());
  assert.equal(parts.length, 4);
  for (const part of parts) {
    assert.equal(part.length, 30);
    for (const family of families)
      assert.equal(part.filter((name) => name.startsWith(family)).length, 10, family);
  }
  assert.deepEqual(partsOf([], 36), []);
});

test("the specs of a container are in one part", () => {
  const lifecycle = "Lifecycle when using an init container with restartPolicy=Always";
  const ordered = [
    `${lifecycle} when it runs continuously should start`,
    `${lifecycle} when it runs continuously should start a regular container`,
    `${lifecycle} when its image is bad should keep the pod Pending`,
  ];
  const others = Array.from({ length: 27 }, (_, n) => `PLR resizing ${n}`);
  const parts = partsOf([...others, ...ordered], 10);
  assert.equal(parts.filter((part) => part.some((name) => ordered.includes(name))).length, 1);
  assert.deepEqual(parts.map(({ length }) => length).toSorted(), [10, 10, 10]);
});
