import assert from "node:assert/strict";
import { test } from "node:test";
import { derivedOnce, derivedOncePerText } from "./derived-once.ts";

test("derivedOnce derives once for each object, also undefined, and again after an error", () => {
  const derived: string[] = [];
  const nameOf = derivedOnce(({ name }: { readonly name?: string }) => {
    derived.push(name ?? "none");
    if (name === "bad" && derived.length < 3) throw new Error("bad");
    return name;
  });
  const [a, none, bad] = [{ name: "a" }, {}, { name: "bad" }];
  assert.deepEqual([nameOf(a), nameOf(a)], ["a", "a"]);
  derived.length = 0;
  assert.throws(() => nameOf(bad));
  assert.deepEqual([nameOf(none), nameOf(none)], [undefined, undefined]);
  assert.deepEqual([nameOf(bad), nameOf(bad)], ["bad", "bad"]);
  assert.deepEqual(derived, ["bad", "none", "bad"]);
  assert.equal(nameOf({ name: "a" }), "a");
  assert.equal(derived.at(-1), "a", "another object of the same content");
});

test("derivedOncePerText derives once for each text, and keeps no more than a thousand", () => {
  let derived = 0;
  const lengthOf = derivedOncePerText((text) => {
    derived += 1;
    return text.length;
  });
  assert.deepEqual([lengthOf("ab"), lengthOf("ab"), lengthOf("")], [2, 2, 0]);
  assert.equal(derived, 2);
  for (let i = 0; i < 1_000; i += 1) lengthOf(`text ${i}`);
  derived = 0;
  assert.equal(lengthOf("ab"), 2);
  assert.equal(derived, 1);
});
