import assert from "node:assert/strict";
import { test } from "node:test";
import { folderPage, logContentType, parseRange } from "./file-pages.ts";

const file = (name: string, kind: "file" | "directory" | "link" = "file") => ({
  name,
  kind,
  id: "1:1",
  sizeBytes: 0,
  modifiedMs: 0,
});

test("folderPage links each name, escaped, as Go's file server does", () => {
  const page = folderPage([file("apt", "directory"), file("a&b <x>?#.log"), file("a:b", "link")]);
  assert.deepEqual(page.split("\n"), [
    "<!doctype html>",
    '<meta name="viewport" content="width=device-width">',
    "<pre>",
    '<a href="apt/">apt/</a>',
    '<a href="a&amp;b%20%3Cx%3E%3F%23.log">a&amp;b &lt;x&gt;?#.log</a>',
    '<a href="./a:b">a:b</a>',
    "</pre>",
    "",
  ]);
});

const RANGES: readonly (readonly [string | undefined, number, unknown])[] = [
  [undefined, 10, undefined],
  ["bytes=0-3", 10, { start: 0, length: 4 }],
  ["bytes=8-99", 10, { start: 8, length: 2 }],
  ["bytes=4-", 10, { start: 4, length: 6 }],
  ["bytes=-3", 10, { start: 7, length: 3 }],
  ["bytes=-99", 10, { start: 0, length: 10 }],
  ["bytes=10-", 10, "unsatisfiable"],
  ["bytes=-0", 10, "unsatisfiable"],
  ["bytes=-", 10, undefined],
  ["bytes=5-3", 10, undefined],
  ["bytes=0-1,3-4", 10, undefined],
  ["lines=0-1", 10, undefined],
];

for (const [header, size, expected] of RANGES)
  test(`parseRange of ${header} in ${size} bytes`, () => {
    assert.deepEqual(parseRange(header, size), expected);
  });

test("logContentType names no type that a browser runs", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  assert.equal(logContentType("a.html", bytes("<script>")), "text/plain; charset=utf-8");
  assert.equal(logContentType("a.log.gz", bytes("\u001f\u008b")), "application/gzip");
  assert.equal(logContentType("wtmp", bytes("\u0000\u0001")), "application/octet-stream");
  assert.equal(logContentType("empty", bytes("")), "text/plain; charset=utf-8");
});
