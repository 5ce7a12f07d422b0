import assert from "node:assert/strict";
import { test } from "node:test";
import { newerThanServer } from "./version-skew.ts";

test("newerThanServer: a node may be as new as its API server", () => {
  assert.equal(newerThanServer("v1.37.2", "v1.37.2", "join"), undefined);
  assert.equal(newerThanServer("v1.37.0", "v1.37.2", "join"), undefined);
  assert.equal(newerThanServer("v1.38.0", "v1.37.2", "join"), undefined);
  assert.deepEqual(newerThanServer("v1.36.3", "v1.37.2", "join"), {
    problem: "nodelet is a v1.37.2, and a node may not be newer than its API server with v1.36.3",
    fix: "let it behave like that version: nodelet join … -- --compat=1.36",
  });
  assert.equal(
    newerThanServer("v1.35.1", "v1.37.2", "join")?.fix,
    "use an older nodelet, or a newer control plane",
  );
});
