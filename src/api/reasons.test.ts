import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_REASONS, isEventReason, type ReasonRules } from "./reasons.ts";

test("EVENT_REASONS: words without spaces, each with one or both types", () => {
  for (const [reason, { types }] of Object.entries<ReasonRules>(EVENT_REASONS)) {
    assert.match(reason, /^[A-Z][A-Za-z0-9]+$/);
    assert.ok(types.length >= 1 && types.every((type) => type === "Normal" || type === "Warning"));
  }
  // The types users alert on.
  const typesOf = (reason: keyof typeof EVENT_REASONS) => EVENT_REASONS[reason].types.join();
  assert.equal(typesOf("Created"), "Normal");
  assert.equal(typesOf("BackOff"), "Normal,Warning");
  assert.equal(typesOf("Unhealthy"), "Warning");
  assert.equal(typesOf("NodeHasDiskPressure"), "Normal");
  assert.equal(typesOf("SandboxChanged"), "Normal");
});

test("isEventReason: only what is in the catalogue", () => {
  assert.equal(isEventReason("Killing"), true);
  assert.equal(isEventReason("toString"), false);
});
