import assert from "node:assert/strict";
import { test } from "node:test";
import { lastLogText } from "./cri-log.ts";

const LIMITS = { maxLines: 80, maxBytes: 2048, cut: false };
const line = (content: string, tag = "F") => `2026-01-01T00:00:00Z stderr ${tag} ${content}\n`;

test("lastLogText: the last lines, fragments put together, the end kept", () => {
  const hundred = Array.from({ length: 100 }, (_, i) => line(`line ${i}`)).join("");
  const text = lastLogText(hundred, LIMITS);
  assert.deepEqual([text.split("\n")[0], text.split("\n").length], ["line 20", 81]);
  assert.equal(lastLogText(line("a", "P") + line("b"), LIMITS), "ab\n");
  const long = lastLogText(line(`${"x".repeat(5000)}end`), LIMITS);
  assert.equal(long.length, 2048);
  assert.ok(long.endsWith("xend\n"));
});

test("lastLogText: bytes count, and no character is cut in two", () => {
  const text = lastLogText(line("€".repeat(2000)), LIMITS);
  assert.equal(text, `${"€".repeat(682)}\n`);
  assert.ok(Buffer.byteLength(text) <= 2048);
});

test("lastLogText: what is left of a line that was cut is left out", () => {
  assert.equal(lastLogText(`ello\n${line("world")}`, { ...LIMITS, cut: true }), "world\n");
});
