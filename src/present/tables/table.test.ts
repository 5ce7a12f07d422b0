import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Paint, textWidth } from "../text.ts";
import { type Column, renderTable } from "./table.ts";

interface Row {
  readonly name: string;
  readonly count: number;
  readonly note: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "NAME", value: ({ name }) => name },
  { title: "COUNT", value: ({ count }) => String(count), align: "right", style: () => "green" },
  { title: "NOTE", value: ({ note }) => note, wide: true },
];

const ROWS: readonly Row[] = [
  { name: "漢字", count: 3, note: "" },
  { name: "a", count: 1000, note: "two\nlines" },
];

test("`renderTable` aligns columns by their width on the screen", () => {
  assert.deepEqual(renderTable(COLUMNS, ROWS), ["NAME   COUNT", "漢字       3", "a       1000"]);
});

test("`renderTable` shows wide columns on request, one line a row, and `-` for nothing", () => {
  assert.deepEqual(renderTable(COLUMNS, ROWS, { wide: true }), [
    "NAME   COUNT   NOTE",
    "漢字       3   -",
    "a       1000   two lines",
  ]);
});

test("`renderTable` leaves titles out, and then columns need not be as wide as they", () => {
  assert.deepEqual(renderTable(COLUMNS, ROWS, { headers: false }), ["漢字      3", "a      1000"]);
});

test("`renderTable` pads by visible width, without escape sequences", () => {
  const paint: Paint = (style, text) => `<${style}>${text}</>`;
  assert.deepEqual(renderTable(COLUMNS, ROWS.slice(1), { paint }), [
    "<bold>NAME</>   <bold>COUNT</>",
    "a       <green>1000</>",
  ]);
});

test("`renderTable` cuts the last column first", () => {
  const columns: readonly Column<Row>[] = [
    { title: "NAME", value: ({ name }) => name },
    { title: "NOTE", value: ({ note }) => note },
  ];
  const rows = [
    { name: "a-name-of-some-length", count: 0, note: "a note that is longer than all" },
  ];
  assert.deepEqual(renderTable(columns, rows, { columns: 40 }), [
    "NAME                    NOTE",
    "a-name-of-some-length   a note that is…",
  ]);
});

test("`renderTable` keeps within its columns as long as four a column are left", () => {
  const rows = fc.array(
    fc.record({ name: fc.string(), count: fc.nat(), note: fc.string({ unit: "grapheme" }) }),
  );
  fc.assert(
    fc.property(rows, fc.integer({ min: 24, max: 100 }), (given, columns) => {
      for (const line of renderTable(COLUMNS, given, { columns, wide: true }))
        assert.ok(textWidth(line) <= columns, line);
    }),
  );
});
