import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  counted,
  cutText,
  oneLine,
  padText,
  textWidth,
  withoutControls,
  wrapText,
} from "./text.ts";

test("`withoutControls` lets nothing through that steers a terminal", () => {
  const vectors: readonly (readonly [string, string])[] = [
    ["plain", "plain"],
    ["a\tb", "a b"],
    ["line\r\nline\nline", "line\nline\nline"],
    ["\u001b[31mred\u001b[0m", "\ufffd[31mred\ufffd[0m"],
    ["\u001b]0;title\u0007", "\ufffd]0;title\ufffd"],
    ["over\rwritten", "over\ufffdwritten"],
    ["\u009b2J", "\ufffd2J"],
    ["user\u202egnp.exe", "user\ufffdgnp.exe"],
    ["\ufeffad\u00admin\u200b", "admin"],
  ];
  for (const [given, expected] of vectors) assert.equal(withoutControls(given), expected);
});

test("`oneLine` makes one line of several", () => {
  assert.equal(oneLine("  first\n  second\n\nthird \n"), "first second third");
});

test("`textWidth` counts columns, not code units", () => {
  const vectors: readonly (readonly [string, number])[] = [
    ["", 0],
    ["abc", 3],
    ["naïve", 5],
    ["e\u0301", 1],
    ["漢字", 4],
    ["🚀", 2],
    ["👩\u200d👩\u200d👧", 2],
    ["👍🏽", 2],
    ["❤\ufe0f", 2],
    ["1\ufe0f\u20e3", 2],
    ["🇩🇪", 2],
    ["⚠\ufe0f disk", 7],
    ["한국어", 6],
    ["ｶﾅ", 2],
    ["𠮷", 2],
    ["नमस्ते", 4],
    ["│─✓", 3],
    ["…", 1],
  ];
  for (const [text, width] of vectors) assert.equal(textWidth(text), width, text);
});

test("`cutText` keeps within its columns and shows that something is gone", () => {
  assert.equal(cutText("hello world", 11), "hello world");
  assert.equal(cutText("hello world", 8), "hello w…");
  assert.equal(cutText("hello world", 7), "hello…");
  assert.equal(cutText("漢字漢字", 6), "漢字…");
  assert.equal(cutText("𠮷𠮷𠮷", 4), "𠮷…");
  assert.equal(cutText("a👩\u200d👩\u200d👧b", 3), "a…");
  assert.equal(cutText("a👩\u200d👩\u200d👧bc", 4), "a👩\u200d👩\u200d👧…");
  assert.equal(cutText("e\u0301e\u0301e\u0301", 2), "e\u0301…");
  assert.equal(cutText("ab", 1), "…");
  assert.equal(cutText("ab", 0), "");
});

test("`cutText` never exceeds its columns, whatever the text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, columns) => {
      assert.ok(textWidth(cutText(text, columns)) <= columns);
    }),
  );
});

test("`padText` fills up on either side", () => {
  assert.equal(padText("字", 4), "字  ");
  assert.equal(padText("7", 3, "right"), "  7");
  assert.equal(padText("long", 2), "long");
});

test("`wrapText` breaks at blanks only", () => {
  assert.deepEqual(wrapText("one two three", 7), ["one two", "three"]);
  assert.deepEqual(wrapText("unbreakable word", 5), ["unbreakable", "word"]);
  assert.deepEqual(wrapText("", 5), []);
});

test("`counted` takes the plural where it belongs", () => {
  assert.equal(counted(1, "pod"), "1 pod");
  assert.equal(counted(0, "pod"), "0 pods");
  assert.equal(counted(2, "entry", "entries"), "2 entries");
});
