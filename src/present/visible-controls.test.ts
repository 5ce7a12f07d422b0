import assert from "node:assert/strict";
import { test } from "node:test";
import { VisibleControls } from "./visible-controls.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

function shown(bytes: Uint8Array, portion: number): string {
  const output = new VisibleControls();
  let text = "";
  for (let at = 0; at < bytes.length; at += portion)
    text += output.push(bytes.subarray(at, at + portion));
  return text + output.end();
}

for (const [given, expected] of [
  ["plain text\n", "plain text\n"],
  ["\ttabs\tand breaks\n\n", "\ttabs\tand breaks\n\n"],
  ["ümlaut 🦆 日本\n", "ümlaut 🦆 日本\n"],
  ["\u001b]0;title\u0007\n", "^[]0;title^G\n"],
  ["\u001b[2J\u001b[31mred\u001b[0m\n", "^[[2J^[[31mred^[[0m\n"],
  ["a\u0000b\n", "a^@b\n"],
  ["a\u007fb\u0008c\u000b\u000c\n", "a^?b^Hc^K^L\n"],
  ["windows\r\nlines\r\n", "windows\nlines\n"],
  ["hidden\rshown\n", "hidden^Mshown\n"],
  ["end\r", "end^M"],
  ["\r\r\n", "^M\n"],
  ["\u009b31mC1\u0085\n", "\\u009b31mC1\\u0085\n"],
  ["abc\u202edef\u2066\n", "abc\\u202edef\\u2066\n"],
  ["\ufeffmark", "\ufeffmark"],
] as const)
  test(`VisibleControls shows ${JSON.stringify(given)}, in any portions`, () => {
    for (const portion of [1, 2, 3, 1000])
      assert.equal(shown(bytesOf(given), portion), expected, `${portion}`);
  });

test("VisibleControls shows bytes that are not UTF-8 as such, also C1 as a byte", () => {
  assert.equal(shown(Uint8Array.of(0x61, 0x9b, 0x62, 0xff, 0xc3), 2), "a\ufffdb\ufffd\ufffd");
});
