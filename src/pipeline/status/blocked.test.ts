import assert from "node:assert/strict";
import { test } from "node:test";
import { aRecord, at } from "../../../test/support/pods.ts";
import { blockedBy } from "./blocked.ts";

const READY = { ready: true, message: "" };
const stepFailure = { reason: "KillContainerError", message: "no", failures: 1, notBefore: at(1) };

const ROWS: readonly (readonly [step: string, reason: string | undefined])[] = [
  ["#prepare", "KillContainerError"],
  ["#sandbox", "KillContainerError"],
  ["#teardown", "KillContainerError"],
  ["#cleanup", undefined],
  ["a", undefined],
];

for (const [step, reason] of ROWS)
  test(`blockedBy: a failure of ${step} ${reason === undefined ? "blocks no pod" : "blocks the pod"}`, () => {
    const failures = { [step]: stepFailure };
    assert.equal(blockedBy(aRecord({}, { retries: { failures } }), READY)?.reason, reason);
  });
