// README and the picture of the session show what docs/session.txt recorded, and what makes runs differ is left out.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fillBlocks, fromText, toSvg, toText, withoutVariables } from "./recording.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const recorded = read("docs/session.txt");

test("docs/session.svg is drawn from docs/session.txt", () => {
  assert.equal(read("docs/session.svg"), toSvg(recorded), "UPDATE_GOLDEN=1 on session.it.ts");
});

test("README shows commands and output as recorded", () => {
  const readme = read("README.md");
  assert.ok([...readme.matchAll(/^<!-- session: /gm)].length >= 3, "README has recorded blocks");
  assert.ok(readme.includes("(docs/session.svg)"), "README shows the picture");
  assert.equal(readme, fillBlocks(readme, fromText(recorded)));
});

test("fromText: the steps of toText", () => {
  const steps = [
    { command: "a b", output: "one\n\ntwo" },
    { command: "c", output: "" },
  ];
  assert.deepEqual(fromText(toText(steps)), steps);
});

test("withoutVariables: equal for two runs, different for different words", () => {
  const first = "08:24:56  started   Started web.  10.85.0.2 97 checks passed, age 18s";
  const second = "11:00:01  started  Started web.  10.85.0.14 97 checks passed, age 2m3s";
  assert.equal(withoutVariables(first), withoutVariables(second));
  assert.notEqual(withoutVariables(first), withoutVariables(first.replace("web", "main")));
});
