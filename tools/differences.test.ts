// docs/PARITY.md lists every deliberate difference from the Go kubelet with the place that describes it, and nothing else.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const DOCS = join(import.meta.dirname, "..", "docs");
const readPage = (page: string) => readFileSync(join(DOCS, page), "utf8");
/** Pages that compare figures or name parts, and describe no behaviour. */
const ASIDE = ["PARITY.md", "benchmark.md", "GLOSSARY.md", "ARCHITECTURE.md"];
const pages = readdirSync(DOCS).filter((page) => page.endsWith(".md") && !ASIDE.includes(page));

/** What stands below a heading, down to the next one that is not below it. */
interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

function sectionsOf(text: string): readonly Section[] {
  const open: { level: number; heading: string; lines: string[] }[] = [];
  const found: Section[] = [];
  let isCode = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const [, marks = "", heading = ""] = (isCode ? null : /^(#+) (.*)$/.exec(line)) ?? [];
    if (marks !== "") {
      while ((open.at(-1)?.level ?? 0) >= marks.length) open.pop();
      const section = { level: marks.length, heading: heading.trim(), lines: [] };
      open.push(section);
      found.push(section);
    } else for (const { lines } of open) lines.push(line);
  }
  return found;
}

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");

const normal = (text: string) => text.replace(/\s+/g, " ").toLowerCase();

/** Rows of tables and elements of lists, each as one line. */
function itemsOf({ lines }: Section): readonly string[] {
  const items: string[] = [];
  let isHead = true;
  for (const line of lines) {
    if (line.startsWith("|")) {
      if (/^\|[\s:|-]+\|$/.test(line)) isHead = false;
      else if (!isHead) items.push(line);
      continue;
    }
    isHead = true;
    if (line.startsWith("* ")) items.push(line.slice(2));
    else if (/^ {2}\S/.test(line) && items.length > 0) items.push(`${items.pop()} ${line.trim()}`);
  }
  return items.map(normal);
}

interface Row {
  readonly words: string;
  readonly page: string;
  readonly anchor: string;
}

const rows: readonly Row[] = (
  sectionsOf(readPage("PARITY.md")).find(({ heading }) => heading === "Deliberate differences")
    ?.lines ?? []
).flatMap((line) => {
  const match = /^\| (.+) \| \[[^\]]+\]\(([\w-]+\.md)#([^)]+)\) \|$/.exec(line);
  return match ? [{ words: match[1] ?? "", page: match[2] ?? "", anchor: match[3] ?? "" }] : [];
});

const sectionOf = ({ page, anchor }: Row) =>
  sectionsOf(readPage(page)).find(({ heading }) => anchorOf(heading) === anchor);

test("PARITY: every deliberate difference stands in the section that its link names", () => {
  assert.ok(rows.length > 60, `${rows.length} rows`);
  for (const row of rows) {
    const section = sectionOf(row);
    assert.ok(section, `${row.page} has no heading for #${row.anchor}`);
    const text = normal(section.lines.join(" "));
    assert.ok(text.includes(normal(row.words)), `${row.page}#${row.anchor}: no "${row.words}"`);
  }
  const keys = rows.map(({ words, page, anchor }) => `${page}#${anchor} ${words}`);
  assert.equal(new Set(keys).size, keys.length, "a difference stands there once");
});

test("PARITY: every difference of a section about differences is listed", () => {
  let count = 0;
  for (const page of pages)
    for (const section of sectionsOf(readPage(page))) {
      if (!/differ.* from the Go kubelet/i.test(section.heading)) continue;
      const listed = rows.filter(
        (row) => row.page === page && row.anchor === anchorOf(section.heading),
      );
      for (const item of itemsOf(section)) {
        count += 1;
        const names = listed.filter(({ words }) => item.includes(normal(words)));
        assert.ok(names.length > 0, `${page}: PARITY does not list "${item.slice(0, 80)}"`);
      }
    }
  assert.ok(count > 50, `${count} differences`);
});

/** A sentence that says what the Go kubelet does, other than as a comparison with the same. */
const CONTRAST =
  /(?:^|[.;:(|*] )(?:The|the|In the|in the|With the|with the|Other than with the) Go kubelet\b|[Uu]nlike (?:there|the Go)/;

test("PARITY: every section that says what the Go kubelet does instead is linked", () => {
  for (const page of pages) {
    // Of nested sections the innermost counts, which begins last.
    const places = new Map<string, string>();
    for (const { heading, lines } of sectionsOf(readPage(page)))
      for (const line of lines) if (CONTRAST.test(line.trim())) places.set(line, heading);
    for (const [line, heading] of places) {
      if (heading === SUBJECT.get(page) || /differ.* from the Go kubelet/i.test(heading)) continue;
      assert.ok(
        rows.some((row) => row.page === page && covers(row, line)),
        `${page}, "${heading}": PARITY does not list ${line.trim().slice(0, 80)}`,
      );
    }
  }
});

/** Headings under which the Go kubelet is mentioned for what is the same. */
const SUBJECT: ReadonlyMap<string, string> = new Map([["devices.md", "Devices"]]);

const covers = (row: Row, line: string) => sectionOf(row)?.lines.includes(line) === true;

test("PARITY: what is done another way says where that is described", () => {
  const ways = readPage("PARITY.md")
    .split("\n")
    .filter((line) => line.includes("| done another way"));
  assert.ok(ways.length > 0);
  for (const line of ways) {
    const [, page = "", anchor = ""] = /\(([\w-]+\.md)#([^)]+)\)/.exec(line) ?? [];
    assert.ok(
      rows.some((row) => row.page === page && row.anchor === anchor),
      `no link to a listed difference: ${line.slice(0, 80)}`,
    );
  }
});
