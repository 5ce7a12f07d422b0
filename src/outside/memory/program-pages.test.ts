import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { programMappings } from "./program-pages.ts";

/** A mapping as /proc/self/smaps shows it, with the lines that matter and some of the others. */
function smapsOf(header: string, anonymousKib: number): string {
  const lines = [
    "Size: 4 kB",
    "Rss: 4 kB",
    `Anonymous:      ${anonymousKib} kB`,
    "VmFlags: rd mr mw me",
  ];
  return [header, ...lines].join("\n");
}

const NODE = "/usr/lib/node dir/node";

test("mappings of the program that are only read and hold nothing else are found", () => {
  const table: readonly [string, string, number, boolean][] = [
    ["constants", `00400000-0082e000 r--p 00000000 fe:00 53 ${NODE}`, 0, true],
    ["code", `0082e000-03489000 r-xp 0042e000 fe:00 53    ${NODE}`, 0, true],
    ["above 32 bits", `7f5d26580000-7f5d26795000 r-xp 01627000 fe:00 53 ${NODE}`, 0, true],
    ["a removed file", `00400000-0082e000 r-xp 00000000 fe:00 53 ${NODE} (deleted)`, 0, true],
    ["changed by the linker", `072a7000-072dc000 r--p 06ea7000 fe:00 53 ${NODE}`, 212, false],
    ["data", `072dc000-07307000 rw-p 06edc000 fe:00 53 ${NODE}`, 0, false],
    ["writable code", `072dc000-07307000 rwxp 06edc000 fe:00 53 ${NODE}`, 0, false],
    ["shared", `072dc000-07307000 r--s 06edc000 fe:00 53 ${NODE}`, 0, false],
    ["not readable", `072dc000-07307000 ---p 06edc000 fe:00 53 ${NODE}`, 0, false],
    [
      "another file",
      "7f0000000000-7f0000001000 r-xp 00000000 fe:00 7 /usr/lib/libc.so.6",
      0,
      false,
    ],
    ["a file whose name begins so", `7f0000000000-7f0000001000 r-xp 0 fe:00 7 ${NODE}2`, 0, false],
    ["no file", "7f0000000000-7f0000001000 r--p 00000000 00:00 0", 0, false],
    ["the heap", "0a000000-0b000000 rw-p 00000000 00:00 0 [heap]", 0, false],
  ];
  for (const [what, header, anonymousKib, isFound] of table) {
    const [start = "", end = ""] = header.split(/[- ]/);
    const expected = isFound ? [{ start: BigInt(`0x${start}`), end: BigInt(`0x${end}`) }] : [];
    assert.deepEqual(programMappings(smapsOf(header, anonymousKib), NODE), expected, what);
  }
  const all = table.map(([, header, anonymousKib]) => smapsOf(header, anonymousKib)).join("\n");
  assert.equal(programMappings(all, `${NODE} (deleted)`).length, 4);
  assert.deepEqual(programMappings("", NODE), []);
});

/** A process that does what Node's own code and V8's generated code are for, before and after. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { gzipSync, gunzipSync } from "node:zlib";
import { createProgramPageRelease } from ${JSON.stringify(new URL("program-pages.ts", import.meta.url))};
const fileKib = () => Number(/RssFile:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
const work = () => {
  const text = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ i, text: "x".repeat(i % 50) })));
  const numbers = JSON.parse(text).toSorted((a, b) => b.i - a.i).map(({ i }) => i * 1.5);
  const again = gunzipSync(gzipSync(text)).toString("utf8").replaceAll(/x+/g, "y");
  return createHash("sha256").update(again).update(String(numbers)).digest("hex");
};
const release = createProgramPageRelease();
const first = work();
const before = fileKib();
const isPossible = release();
const after = fileKib();
const second = work();
const isPossibleAgain = release();
console.log(JSON.stringify({ before, after, isPossible, isPossibleAgain, isSame: first === second && second === work() }));
`;

test("a process gives back most of its program and goes on as before", () => {
  const flags = ["--input-type=module", "--eval", PROGRAM];
  const { stdout, stderr } = spawnSync(process.execPath, flags, { encoding: "utf8" });
  assert.equal(stderr, "");
  const { before, after, ...rest } = JSON.parse(stdout);
  assert.deepEqual(rest, { isPossible: true, isPossibleAgain: true, isSame: true });
  assert.ok(after < before / 2, `${before} KiB before, ${after} KiB after`);
});
