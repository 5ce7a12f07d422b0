import assert from "node:assert/strict";
import { test } from "node:test";
import { fnv1a32 } from "../text/fnv.ts";
import { containerHash } from "./container-hash.ts";

test("containerHash: vectors of the Go kubelet", () => {
  assert.equal(containerHash({ name: "test_container", image: "foo/image:v1" }), "8e45cbd0");
  assert.equal(containerHash({ name: "foo", image: "bar" }), "11a6d6d6");
});

test("containerHash: only name and image matter, escapes are those of Go", () => {
  const container = { name: "a", image: "b", command: ["x"] };
  assert.equal(containerHash(container), containerHash({ name: "a", image: "b" }));
  assert.notEqual(containerHash({ name: "a", image: "c" }), containerHash(container));
  const bytes = new TextEncoder().encode('{"image":"\\u003cb\\u0026","name":"a"}');
  assert.equal(
    containerHash({ name: "a", image: "<b&" }),
    fnv1a32(`([]uint8)[${bytes.join(" ")}]`).toString(16),
  );
});
