import assert from "node:assert/strict";
import { test } from "node:test";
import { pullDuration, pullFailure, withDefaultTag } from "../pull/pull-policy.ts";
import { sizeBucket } from "../size-bucket.ts";
import { aggregateErrors, deletionsFailed, referenceSize } from "./gc-texts.ts";

for (const [bytes, text] of [
  [0, "0 B"],
  [512, "512 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [2048 * 2 ** 40, "2048.0 TiB"],
  [100 * 2 ** 30, "100.0 GiB"],
  [1.5 * 2 ** 20, "1.5 MiB"],
] as const)
  test(`\`referenceSize\` of ${bytes} is ${text}`, () => {
    assert.equal(referenceSize(bytes), text);
  });

for (const [ms, text] of [
  [0, "0s"],
  [0.9, "0s"],
  [1, "1ms"],
  [999.9, "999ms"],
  [1000, "1s"],
  [1234.9, "1.234s"],
  [60_000, "1m0s"],
  [123_500, "2m3.5s"],
  [3_723_004, "1h2m3.004s"],
] as const)
  test(`\`pullDuration\` of ${ms} ms is ${text}`, () => {
    assert.equal(pullDuration(ms), text);
  });

for (const [bytes, label] of [
  [0, "N/A"],
  [1, "0-10MB"],
  [10 * 2 ** 20, "0-10MB"],
  [10 * 2 ** 20 + 1, "10MB-100MB"],
  [2 ** 40, "GT100GB"],
] as const)
  test(`\`sizeBucket\` of ${bytes} is ${label}`, () => {
    assert.equal(sizeBucket(bytes), label);
  });

test("several errors become one text, each once", () => {
  assert.equal(aggregateErrors(["a", "a"]), "a");
  assert.equal(aggregateErrors(["a", "b", "a"]), "[a, b]");
  assert.match(
    deletionsFailed(Number.POSITIVE_INFINITY, 5, ["x"]),
    /^wanted to free all bytes, but freed 5 /,
  );
});

test("`withDefaultTag` adds a tag only where there is neither tag nor digest", () => {
  const digest = `@sha256:${"a".repeat(64)}`;
  assert.equal(withDefaultTag("nginx"), "nginx:latest");
  assert.equal(withDefaultTag("r.test:5000/x"), "r.test:5000/x:latest");
  assert.equal(withDefaultTag("nginx:1"), "nginx:1");
  assert.equal(withDefaultTag(`nginx${digest}`), `nginx${digest}`);
  assert.equal(withDefaultTag("Nginx"), undefined);
});

test("`pullFailure` keeps any other message of the runtime", () => {
  const error = "rpc error: code = NotFound desc = not found";
  assert.deepEqual(pullFailure("x", error), { reason: "ErrImagePull", message: error });
});
