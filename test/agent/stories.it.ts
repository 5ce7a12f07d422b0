// `nodelet why` on real containerd: the stories of the simulation, side by side on one node.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../src/kit/errors.ts";
import { ALL_STORIES } from "../sim/stories/all-stories.ts";
import { AFTER_THE_OTHERS, ON_CONTAINERD, type OtherWords } from "../sim/stories/on-containerd.ts";
import { whyTextOf } from "../sim/stories/why-text.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { RealStory, StoriesNode } from "./stories-node.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/why.md"), "utf8");
const LIMIT_MS = 180_000 * TIMEOUT_FACTOR;
const POLL_MS = 700;
/** Stories played side by side; with more of them a machine of two cores is late everywhere. */
const AT_ONCE = 8;

/** How long something took, and how often it failed meanwhile, depends on the machine. */
function withoutTimes(line: string): string {
  return line
    .replace(/ after [\d.]+ (s|min)( \d+ s)?(?=[:.])/, "")
    .replace(/ \(N times( in T)?\)/, "");
}

/** The lines that the page shows of a story. */
function expectedLines(name: string, words: OtherWords): readonly RegExp[] {
  const row = PAGE.split("\n").find((line) => line.startsWith(`| ${name} |`));
  assert.ok(row, `docs/why.md shows: ${name}`);
  const lines = (row.split(" | ")[1] ?? "").replaceAll("\\|", "|").replaceAll("&lt;", "<");
  return lines.split("<br>").map((line) => {
    const other = Object.entries(words).find(([part]) => line.includes(part))?.[1] ?? line;
    const pattern = withoutTimes(other).replace(/[.+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
  });
}

let node: StoriesNode;
before(async () => {
  node = await StoriesNode.start();
});
after(() => node?.[Symbol.asyncDispose]());

async function play(name: string, namespace: string): Promise<void> {
  const story = Object.values(ALL_STORIES)
    .flat()
    .find((each) => each.name === name);
  assert.ok(story);
  const expected = expectedLines(name, ON_CONTAINERD[name] ?? {});
  const real = new RealStory(node, story, namespace);
  let failed: unknown;
  const done = real.play().catch((error: unknown) => {
    failed = error ?? new Error("the story cannot be played");
  });
  let lines: readonly string[] = [];
  const isComplete = () =>
    lines.length === expected.length && expected.every((each, i) => each.test(lines[i] ?? ""));
  for (const deadline = performance.now() + LIMIT_MS; !isComplete(); await sleep(POLL_MS)) {
    if (failed) throw failed;
    if (performance.now() > deadline)
      assert.fail(`reported:\n${lines.join("\n")}\nexpected:\n${expected.join("\n")}`);
    const { why } = await real.history().then(
      (found) => whyTextOf(found, Date.now()),
      (error: unknown) => ({ why: [messageOf(error)] }),
    );
    lines = why.map((line) => withoutTimes(line.replaceAll(namespace, "default")));
  }
  await done;
}

describe("nodelet why explains what happened on containerd", { concurrency: AT_ONCE }, () => {
  for (const [i, name] of Object.keys(ON_CONTAINERD).entries())
    if (!AFTER_THE_OTHERS.has(name)) test(name, () => play(name, `story-${i}`));
});

describe("nodelet why explains it after the agent has ended, too", () => {
  for (const [i, name] of [...AFTER_THE_OTHERS].entries())
    test(name, () => play(name, `story-after-${i}`));
});
