import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseTimestampNanos } from "../../api/text/timestamps.ts";
import { FragmentReader, LINE_BYTES } from "./fragments.ts";
import { LogRenderer, nineDigits, type RenderRules } from "./render.ts";

const PLAIN: RenderRules = { timestamps: false };
const at = (second: number) => `2026-01-02T03:04:${String(second).padStart(2, "0")}.5Z`;

function render(log: string | Uint8Array, rules: RenderRules = PLAIN, chunk = 1 << 20): string {
  const bytes = typeof log === "string" ? Buffer.from(log) : log;
  const renderer = new LogRenderer(rules);
  const out: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += chunk) {
    renderer.push(bytes.subarray(from, from + chunk));
    out.push(...renderer.take().map((piece) => piece.slice()));
  }
  renderer.finish();
  out.push(...renderer.take());
  return Buffer.concat(out).toString("latin1");
}

describe("LogRenderer", () => {
  const table: readonly {
    readonly name: string;
    readonly log: string;
    readonly rules?: Partial<RenderRules>;
    readonly expect: string;
  }[] = [
    {
      name: "shows the content of both streams in order",
      log: `${at(1)} stdout F one\n${at(2)} stderr F two\n`,
      expect: "one\ntwo\n",
    },
    {
      name: "joins the parts of a line",
      log: `${at(1)} stdout P one \n${at(2)} stdout P two \n${at(3)} stdout F three\n`,
      expect: "one two three\n",
    },
    {
      name: "keeps lines whole when the streams alternate within one",
      log: `${at(1)} stdout P a\n${at(2)} stderr F err\n${at(3)} stdout F b\n`,
      expect: "err\nab\n",
    },
    {
      name: "shows a line whose end never came",
      log: `${at(1)} stdout F one\n${at(2)} stdout P prompt> \n`,
      expect: "one\nprompt> ",
    },
    { name: "shows a last line without newline", log: `${at(1)} stdout F one`, expect: "one" },
    { name: "shows empty lines", log: `${at(1)} stdout F \n${at(2)} stdout F\n`, expect: "\n\n" },
    {
      name: "reads tags beyond the first",
      log: `${at(1)} stdout P:x a\n${at(2)} stdout F:y b\n`,
      expect: "ab\n",
    },
    {
      name: "leaves out what is not CRI's",
      log: `garbage\n${at(1)} stdin F x\n\n${at(2)} stdout F ok\n`,
      expect: "ok\n",
    },
    {
      name: "begins each whole line with its time",
      log: `${at(1)} stdout P a\n${at(2)} stdout F b\n${at(3)} stderr F c\n`,
      rules: { timestamps: true },
      expect: "2026-01-02T03:04:01.500000000Z ab\n2026-01-02T03:04:03.500000000Z c\n",
    },
    {
      name: "takes lines from a time on, that time included",
      log: `${at(1)} stdout F a\n${at(2)} stdout F b\n${at(3)} stdout F c\n`,
      rules: { sinceNanos: parseTimestampNanos(at(2)) ?? 0n },
      expect: "b\nc\n",
    },
    {
      name: "compares times across zones",
      log: `2026-01-02T05:04:01.5+02:00 stdout F a\n2026-01-02T05:04:03.5+02:00 stdout F b\n`,
      rules: { sinceNanos: parseTimestampNanos(at(2)) ?? 0n },
      expect: "b\n",
    },
    {
      name: "takes one stream",
      log: `${at(1)} stdout F a\n${at(2)} stderr F b\n`,
      rules: { stream: "stderr" },
      expect: "b\n",
    },
    {
      name: "stops at the limit, to the byte",
      log: `${at(1)} stdout F 12345\n${at(2)} stdout F 6\n`,
      rules: { limitBytes: 7 },
      expect: "12345\n6",
    },
    {
      name: "counts times within the limit",
      log: `${at(1)} stdout F 12345\n`,
      rules: { timestamps: true, limitBytes: 33 },
      expect: "2026-01-02T03:04:01.500000000Z 12",
    },
  ];
  for (const { name, log, rules, expect } of table) {
    test(name, () => {
      for (const chunk of [1, 2, 7, 1 << 20])
        assert.equal(render(log, { ...PLAIN, ...rules }, chunk), expect, `portions of ${chunk}`);
    });
  }

  test("shows the same in whatever portions the bytes come", () => {
    const line = fc.record({
      stream: fc.constantFrom("stdout", "stderr"),
      tag: fc.constantFrom("P", "F"),
      content: fc.string({ maxLength: 40 }).map((text) => text.replaceAll("\n", "")),
    });
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 30 }),
        fc.integer({ min: 1, max: 64 }),
        (lines, chunk) => {
          const log = lines
            .map(({ stream, tag, content }, i) => `${at(i % 60)} ${stream} ${tag} ${content}\n`)
            .join("");
          assert.equal(render(log, PLAIN, chunk), render(log, PLAIN));
          // Nothing is lost and nothing comes twice, whatever is joined with what.
          const letters = (text: string) => [...text.replaceAll("\n", "")].sort().join("");
          const all = Buffer.from(lines.map(({ content }) => content).join("")).toString("latin1");
          assert.equal(letters(render(log, PLAIN)), letters(all));
          const ends = lines.filter(({ tag }) => tag === "F").length;
          assert.equal(render(log, PLAIN).split("\n").length - 1, ends);
        },
      ),
    );
  });

  test("passes a line on in pieces when it is longer than can be held", () => {
    const part = "x".repeat(16_000);
    const log = `${`${at(1)} stdout P ${part}\n`.repeat(200)}${at(2)} stdout F end\n`;
    const renderer = new LogRenderer({ timestamps: true });
    let largest = 0;
    let shown = "";
    const bytes = Buffer.from(log);
    for (let from = 0; from < bytes.length; from += 65_536) {
      renderer.push(bytes.subarray(from, from + 65_536));
      const size = renderer.take().reduce((sum, piece) => {
        shown += Buffer.from(piece).toString();
        return sum + piece.length;
      }, 0);
      largest = Math.max(largest, size);
    }
    assert.equal(shown, `${nineDigits(at(1))} ${part.repeat(200)}end\n`);
    assert.ok(largest < 1_200_000, `${largest}`);
  });

  test("keeps a line of the runtime whole that is longer than can be gathered", () => {
    const log = `${at(1)} stdout F ${"y".repeat(3 * LINE_BYTES)}\n${at(2)} stdout F next\n`;
    assert.equal(render(log, PLAIN, 65_536), `${"y".repeat(3 * LINE_BYTES)}\nnext\n`);
  });

  test("keeps bytes that are no text", () => {
    const bytes = Buffer.concat([
      Buffer.from(`${at(1)} stdout F `),
      Buffer.from([0, 0xff, 0xfe, 0x80]),
      Buffer.from("\n"),
    ]);
    assert.equal(render(bytes), Buffer.from([0, 0xff, 0xfe, 0x80, 10]).toString("latin1"));
  });

  test("skipLines leaves out whole lines, of the requested stream only", () => {
    const log = `${at(1)} stdout P a\n${at(1)} stderr F x\n${at(2)} stdout F b\n${at(3)} stdout F c\n${at(4)} stderr F y\n`;
    const shown = (rules: RenderRules, skip: number) => {
      const renderer = new LogRenderer(rules);
      renderer.skipLines(skip);
      renderer.push(Buffer.from(log));
      return Buffer.concat(renderer.take()).toString();
    };
    assert.equal(shown(PLAIN, 2), "c\ny\n");
    assert.equal(shown({ ...PLAIN, stream: "stdout" }, 1), "c\n");
  });

  test("skipKnown leaves out what was read before", () => {
    const renderer = new LogRenderer(PLAIN);
    renderer.push(Buffer.from(`${at(1)} stdout F a\n${at(2)} stdout F b\n`));
    renderer.skipKnown();
    renderer.push(Buffer.from(`${at(1)} stdout F a\n${at(2)} stdout F b\n${at(3)} stdout F c\n`));
    assert.equal(Buffer.concat(renderer.take()).toString(), "a\nb\nc\n");
  });
});

test("FragmentReader counts what it cannot read", () => {
  const reader = new FragmentReader();
  const read = [...reader.read(Buffer.from(`bad\n${at(1)} stdout F ok\nworse\n`))];
  assert.equal(read.length, 1);
  assert.equal(reader.malformed, 2);
});

test("nineDigits keeps the zone", () => {
  const table = [
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000000Z"],
    ["2026-01-02T03:04:05.1+02:00", "2026-01-02T03:04:05.100000000+02:00"],
    ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123456789Z"],
    ["nonsense", "nonsense"],
  ] as const;
  for (const [time, expect] of table) assert.equal(nineDigits(time), expect);
});
