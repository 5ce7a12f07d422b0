// The help of every command, and the page of documentation that is made of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import { buildProgram, runCommand } from "../../src/cli/cli.ts";
import { fakeIo } from "./fake-io.ts";
import { assertGolden } from "./golden.ts";

const CLI_PAGE = join(import.meta.dirname, "../../docs/cli.md");

async function run(...argv: readonly string[]) {
  const io = fakeIo();
  const code = await runCommand(argv, io, () => new AbortController().signal);
  return { code, out: io.out(), err: io.err() };
}

/** Every command below a command with its words. */
function allCommands(command: Command, words: readonly string[] = []): readonly string[][] {
  return [
    [...words],
    ...command.commands.flatMap((each) => allCommands(each, [...words, each.name()])),
  ];
}

const program = buildProgram({
  io: fakeIo(),
  onInterrupt: () => new AbortController().signal,
  finish: () => {},
});

for (const words of allCommands(program))
  test(`\`nodelet ${words.join(" ")} --help\``, async () => {
    const { code, out, err } = await run(...words, "--help");
    assert.equal(code, 0);
    assert.equal(err, "");
    assertGolden(`help/${words.join("-") || "nodelet"}.txt`, out);
  });

const COMPLETIONS: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
  [["images", "b"], ["build-from"]],
  [["images", "build-from", ""], [":files"]],
  [["images", "build-from", "out", "--sto"], ["--stop-signal"]],
  [["images", "build-from", "out", "--output", ""], [":files"]],
  [["images", "build-from", "out", ""], []],
];

for (const [words, expected] of COMPLETIONS)
  test(`completion of \`nodelet ${words.join(" ")}\` without an agent`, async () => {
    const { out } = await run("__complete", ...words);
    const texts = out.split("\n").map((line) => line.split("\t")[0]);
    assert.deepEqual(texts.slice(0, -1), expected);
  });

test("docs/cli.md holds the help of every command", async () => {
  const page = readFileSync(CLI_PAGE, "utf8");
  const [before = "", after = ""] = page.split(/<!-- begin commands -->.*<!-- end commands -->/s);
  const parts: string[] = [];
  for (const words of allCommands(program)) {
    if (words.length === 0) continue;
    const { out } = await run(...words, "--help");
    parts.push(`### nodelet ${words.join(" ")}\n\n\`\`\`text\n${out.trimEnd()}\n\`\`\`\n`);
  }
  const body = `<!-- begin commands -->\n\n${parts.join("\n")}\n<!-- end commands -->`;
  assertGolden("../../../docs/cli.md", `${before}${body}${after}`);
});

test("`nodelet` alone and `nodelet help` show the same as --help", async () => {
  const { out } = await run("--help");
  assert.deepEqual(await run(), { code: 0, out, err: "" });
  assert.deepEqual(await run("help"), { code: 0, out, err: "" });
  assert.equal((await run("help", "get")).out, (await run("get", "--help")).out);
});
