import assert from "node:assert/strict";
import { test } from "node:test";
import { servicesFault } from "./services.ts";

const WARNING =
  '  I1130 12:09:58.139961     193 warnings.go:107] "Warning: v1 Endpoints is deprecated"\n';

test("an end of the API server or etcd is found in their log", () => {
  for (const fault of [
    "fatal error: unexpected signal during runtime execution",
    "panic: freepages: failed to get all reachable pages",
  ])
    assert.equal(servicesFault(`${WARNING}${fault}\n\ngoroutine 1 [running]:\n${WARNING}`), fault);
});

test("what a handler survives is no end", () => {
  assert.equal(
    servicesFault(`${WARNING}E1130 1 runtime.go:142] Observed a panic: "no"\n`),
    undefined,
  );
  assert.equal(servicesFault(""), undefined);
});
