// nodelet images, from the command line over the socket to a running agent and back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../../src/cli/cli.ts";
import type { ImagesReport } from "../../src/subsystems/images/images.ts";
import { ServedWorld } from "../server/world.ts";
import { commandOf } from "../sim/programs.ts";
import { captureIo } from "../support/capture-io.ts";

const nodelet =
  (world: ServedWorld) =>
  async (...argv: readonly string[]) => {
    const io = captureIo();
    const args = [...argv, "--socket", world.socketPath];
    const code = await runCommand(args, io.io, () => new AbortController().signal);
    return { code, ...io.text() };
  };

test("images are listed with their users and fate, and what the dry run says is what goes", async () => {
  await using world = await new ServedWorld().start();
  const { store } = world.runtime;
  const container = {
    name: "c",
    image: "nodelet.test/nodelet-test:1",
    command: [...commandOf({ kind: "sleep" })],
  };
  store.add("nodelet.test/big:1", { sizeBytes: 3 * 2 ** 20 });
  store.add("nodelet.test/small:1", { sizeBytes: 2 ** 20 });
  await world.run("web", { kind: "sleep" }, { containers: [container] });
  await world.untilPhase("web", "Running");
  const run = nodelet(world);
  const young = await run("images");
  assert.equal(young.code, 0, young.err);
  assert.match(young.out, /^IMAGE +SIZE +USED +USED BY +NEXT PASS +WHY\n/);
  assert.match(
    young.out,
    /nodelet\.test\/nodelet-test:1 +1 KiB .* default\/web \(c\) +keeps +in use\n/,
  );
  await world.clockForward(3 * 60_000);
  const dry = await run("images", "gc", "--dry-run", "--free", "3Mi");
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /1 image would be removed, 3 MiB\n$/);
  assert.match(dry.out, /nodelet\.test\/big:1 .* space is needed/);
  assert.equal(store.all.size, 3);
  const done = await run("images", "gc", "--free", "3Mi");
  assert.deepEqual(
    [done.code, done.out],
    [0, "removed nodelet.test/big:1 3 MiB\n1 image removed, 3 MiB\n"],
    done.err,
  );
  assert.deepEqual([...store.all.keys()].sort(), [
    "nodelet.test/nodelet-test:1",
    "nodelet.test/small:1",
  ]);
  const report = JSON.parse((await run("images", "-o", "json")).out) as ImagesReport;
  assert.deepEqual(report.images.map(({ tags, rule }) => [tags[0], rule]).sort(), [
    ["nodelet.test/nodelet-test:1", "in use"],
    ["nodelet.test/small:1", "not needed for the goal"],
  ]);
  const all = await run("images", "gc", "--unused", "-o", "json");
  assert.equal((JSON.parse(all.out) as { freedBytes: number }).freedBytes, 2 ** 20);
  assert.match((await run("images", "-o", "wide")).out, /^IMAGE +ID +SIZE +SEEN/);
  assert.match((await run("images", "-o", "yaml")).out, /^atMs: /);
});

for (const [args, message] of [
  [["gc"], /specify how much to free/],
  [["gc", "--free", "1Gi", "--to", "70%"], /cannot be used together/],
  [["gc", "--free", "none"], /write an amount such as/],
  [["gc", "--to", "101%"], /write a percentage/],
] as const)
  test(`nodelet images ${args.join(" ")} is not understood`, async () => {
    const io = captureIo();
    const code = await runCommand(["images", ...args], io.io, () => new AbortController().signal);
    assert.equal(code, 2, io.text().err);
    assert.match(io.text().err, message);
  });
