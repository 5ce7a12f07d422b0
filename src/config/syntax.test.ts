import assert from "node:assert/strict";
import { test } from "node:test";
import { isEvictionSignal } from "../api/node/eviction-signals.ts";
import { parseCpuList } from "./cpu-list.ts";
import { readEvictionAmount } from "./eviction-thresholds.ts";
import { fieldLines, lineOfField } from "./file/field-lines.ts";
import { folderOf, resolvePath } from "./paths.ts";

test("parseCpuList reads the kernel's list format", () => {
  const rows: readonly (readonly [string, readonly number[]])[] = [
    ["", []],
    ["0", [0]],
    ["0-3", [0, 1, 2, 3]],
    ["8,0-2", [0, 1, 2, 8]],
    ["1,1-2,2", [1, 2]],
    ["65535", [65535]],
  ];
  for (const [text, cpus] of rows) assert.deepEqual(parseCpuList(text), { ok: true, cpus });
  for (const text of [",", "1,", "a", "1-", "-1", "3-1", "0-999999999", "1 ,2", "65536", "0x1"]) {
    assert.equal(parseCpuList(text).ok, false, text);
  }
});

test("resolvePath and folderOf stay within absolute paths", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["/a", "b", "/a/b"],
    ["/a/b", "../c", "/a/c"],
    ["/a", "/b/./c//d/", "/b/c/d"],
    ["/", "../../x", "/x"],
    ["/a", ".", "/a"],
    ["/a", "..", "/"],
  ];
  for (const [from, path, resolved] of rows) assert.equal(resolvePath(from, path), resolved);
  assert.equal(folderOf("/a/b"), "/a");
  assert.equal(folderOf("/a"), "/");
});

test("fieldLines finds block mappings, and what is inside gets the nearest line", () => {
  const lines = fieldLines(
    [
      "# a comment: no key",
      "port: 1",
      "authentication:",
      "  x509:",
      '    "clientCAFile": /x',
      "  anonymous: {enabled: true}",
      "evictionHard:",
      "  memory.available: 5%",
      "'quoted': 1",
      "list:",
      "- a: 1",
      "  b: 2",
      "port: 9",
    ].join("\n"),
  );
  const rows: readonly (readonly [string, number | undefined])[] = [
    ["port", 2],
    ["authentication", 3],
    ["authentication.x509.clientCAFile", 5],
    ["authentication.anonymous.enabled", 6],
    ["evictionHard[memory.available]", 8],
    ["evictionHard[pid.available]", 7],
    ["quoted", 9],
    ["list[0].a", 10],
    ["missing", undefined],
    ["missing.deep[0]", undefined],
  ];
  for (const [path, line] of rows) assert.equal(lineOfField(lines, path), line, path);
  assert.equal(fieldLines("a: 1\n".repeat(30_000)).size, 0);
});

test("eviction amounts are quantities or shares", () => {
  const share = (text: string) => {
    const reading = readEvictionAmount(text);
    return reading.ok && reading.amount.kind === "share" ? reading.amount.share : undefined;
  };
  assert.equal(share("10%"), 0.1);
  assert.equal(share("5.5%"), 0.055);
  assert.equal(share("1e3%"), 10);
  assert.equal(share("+.5%%"), 0.005);
  assert.equal(share("100Mi"), undefined);
  for (const text of ["%", "x%", "1e40%", " 5%", "0x1%", "NaN%"]) {
    assert.deepEqual(readEvictionAmount(text), { ok: false, error: "invalid percentage" }, text);
  }
  assert.ok(isEvictionSignal("pid.available") && !isEvictionSignal("toString"));
});
