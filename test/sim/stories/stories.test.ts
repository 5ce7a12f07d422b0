// `nodelet why` explains what happened: every story is played, printed, and held against the page that shows it.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { DecisionRecord } from "../../../src/api/decisions.ts";
import { ALL_STORIES } from "./all-stories.ts";
import { ON_CONTAINERD, ONLY_SIMULATED } from "./on-containerd.ts";
import type { Story } from "./story.ts";
import { StoryNode } from "./story-node.ts";
import type { WhyText } from "./why-text.ts";

const PAGE = join(import.meta.dirname, "../../../docs/why.md");
const MARKS = /<!-- begin stories -->.*<!-- end stories -->/s;
const MIN_STORIES = 60;
const MIN_BITTEN = 20;

const stories = Object.values(ALL_STORIES).flat();
const rows = new Map<Story, string>();
const bitten: string[] = [];

/** One row of the table. */
function rowOf({ name }: Story, { why, now }: WhyText): string {
  const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
  const seen = name in ON_CONTAINERD ? "containerd" : `simulation: ${ONLY_SIMULATED[name]}`;
  return `| ${cell(name)} | ${why.map(cell).join("<br>")} | ${now === "" ? "–" : cell(now)} | ${seen} |`;
}

function withoutOutcome({ outcome: _, ...record }: DecisionRecord): DecisionRecord {
  return record;
}

describe("nodelet why explains what happened", () => {
  const page = readFileSync(PAGE, "utf8");
  for (const story of stories)
    test(story.name, async () => {
      const node = await StoryNode.play(story);
      const row = rowOf(story, node.why());
      rows.set(story, row);
      node.checkTruth();
      const bite = rowOf(
        story,
        node.why((records) => records.map(withoutOutcome)),
      );
      if (bite !== row) bitten.push(story.name);
      if (process.env["UPDATE_GOLDEN"] !== "1")
        assert.ok(page.includes(`${row}\n`), `docs/why.md does not show this row:\n${row}`);
    });

  test(`docs/why.md shows all of them, ${MIN_STORIES} or more`, () => {
    assert.ok(stories.length >= MIN_STORIES, `${stories.length} stories`);
    assert.equal(new Set(stories.map(({ name }) => name)).size, stories.length);
    const parts = Object.entries(ALL_STORIES).map(([heading, part]) =>
      [
        `### ${heading}`,
        "",
        "| situation | `nodelet why` | `Now:` | tested on |",
        "| --- | --- | --- | --- |",
        ...part.map((story) => rows.get(story) ?? ""),
      ].join("\n"),
    );
    const body = `<!-- begin stories -->\n\n${parts.join("\n\n")}\n\n<!-- end stories -->`;
    const now = page.replace(MARKS, () => body);
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(PAGE, now);
    else assert.equal(now, page, "run this test with UPDATE_GOLDEN=1 and read docs/why.md");
  });

  test("each is seen on containerd too, or says why not", () => {
    const open = stories.filter(({ name }) => name in ON_CONTAINERD === name in ONLY_SIMULATED);
    assert.deepEqual(
      open.map(({ name }) => name),
      [],
    );
    const names = new Set(stories.map(({ name }) => name));
    const unknown = Object.keys({ ...ON_CONTAINERD, ...ONLY_SIMULATED }).filter(
      (name) => !names.has(name),
    );
    assert.deepEqual(unknown, []);
  });

  test(`a journal without outcomes explains ${MIN_BITTEN} of them or more otherwise`, () => {
    assert.ok(bitten.length >= MIN_BITTEN, `${bitten.length} of ${stories.length}`);
  });

  after(() => console.log(`without outcomes ${bitten.length} of ${stories.length} rows differ`));
});
