// `nodelet record dump` writes what a running agent saw and decided; `nodelet replay` decides it again.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runCommand } from "../../src/cli/cli.ts";
import { fakeIo } from "../cli/fake-io.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const SECRET = "hunter2-of-the-web";
let world: ServedWorld;
let file = "";
before(async () => {
  world = await startWorld();
  const containers = [
    {
      name: "c",
      image: "nodelet.test/nodelet-test:1",
      command: ["exit", "1", "100"],
      env: [{ name: "TOKEN", value: SECRET }],
    },
  ];
  await world.run("web", { kind: "exit", code: 1, afterMs: 100 }, { restartPolicy: "Always" });
  await world.run("other", { kind: "sleep" }, { containers });
  await world.until(
    () =>
      world.agent.pipeline.statuses
        .list()
        .some(({ status }) => (status.containerStatuses?.[0]?.restartCount ?? 0) > 0),
    "a container is restarted",
  );
  const [record] = world.agent.pipeline.pods.list();
  const message = `exec: "--token=${SECRET}": no such file`;
  if (record)
    world.agent.subsystems.events.ofPod(record.pod, { type: "Warning", reason: "Failed", message });
  file = join(world.folder, "node.jsonl");
});
after(() => world[Symbol.asyncDispose]());

async function run(...argv: readonly string[]) {
  const io = fakeIo();
  const code = await runCommand(argv, io, () => new AbortController().signal);
  return { code, out: io.out(), err: io.err() };
}

test("record dump writes steps, decisions, events and statuses, and no secrets", async () => {
  assert.deepEqual(await run("record", "dump", "--socket", world.socketPath, "-o", file), {
    code: 0,
    out: "",
    err: "",
  });
  const text = readFileSync(file, "utf8");
  const lines = text.trimEnd().split("\n");
  const kinds = new Set(lines.map((line) => (JSON.parse(line) as { kind: string }).kind));
  const expected = ["header", "begin", "signal", "plan", "decision", "event", "status"];
  assert.deepEqual([...kinds].sort(), expected.sort());
  assert.ok(!text.includes(SECRET));
  assert.ok(text.includes('exec: \\"--token=<redacted>\\": no such file'));
});

test("replay shows every decision with its rule, and ends well", async () => {
  const { code, out } = await run("replay", file);
  assert.equal(code, 0, out);
  assert.match(out, /default\/web {2}plan {2}.*startContainer: startContainer c \(/);
  assert.match(out, /steps of 2 pods of node-1: all decided as recorded\.\n$/);
  const one = await run("replay", file, "--pod", "default/web", "--all");
  assert.match(one.out, / observed\n/);
  assert.doesNotMatch(one.out, /default\/other/);
});

test("replay names the step at which it departs, and fails", async () => {
  const lines = readFileSync(file, "utf8").split("\n");
  const at = lines.findIndex(
    (line) => line.includes('"kind":"startContainer"') && line.includes('"kind":"plan"'),
  );
  const changed = lines.with(
    at,
    (lines[at] ?? "").replaceAll('"restartCount":0', '"restartCount":5'),
  );
  const other = join(world.folder, "other.jsonl");
  writeFileSync(other, changed.join("\n"));
  const { code, out } = await run("replay", other);
  assert.equal(code, 1);
  assert.match(
    out,
    /departs from the recording at actions\[\d+\]\.restartCount\n {4}recorded: 5\n {4}now: {6}0\n/,
  );
  assert.match(out, /: 1 decided otherwise than recorded:\n {2}step \d+, default\/\w+, plan\n$/);
});

test("replay says what is wrong with a file", async () => {
  const none = await run("replay", join(world.folder, "none.jsonl"));
  assert.equal(none.code, 1);
  assert.match(none.err, /none\.jsonl.*name a file that nodelet record dump has written/s);
});

const COMPLETIONS: readonly (readonly [words: readonly string[], expected: string])[] = [
  [["record", ""], "dump"],
  [["record", "dump", "-o", ""], ":files"],
  [["replay", ""], ":files"],
];
for (const [words, expected] of COMPLETIONS)
  test(`completion of \`nodelet ${words.join(" ")}\``, async () => {
    const { out } = await run("__complete", ...words);
    assert.equal(out.split(/[\t\n]/)[0], expected);
  });
