import assert from "node:assert/strict";
import { test } from "node:test";
import { TornAppend } from "../../../test/sim/fake-file-nodes.ts";
import { FakeFiles } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../errors.ts";
import { silentLog } from "../log.ts";
import { SegmentLog, type SegmentLogOptions } from "./segment-log.ts";
import { StateFiles } from "./state-files.ts";
import { StateReserve } from "./state-reserve.ts";

const OPTIONS: SegmentLogOptions = {
  folder: "/logs",
  prefix: "x",
  segmentBytes: 30,
  segments: 3,
  file: { name: "x", holds: "lines" },
  isLine: () => true,
};

function world() {
  const clock = new SimClock();
  let broken = false;
  const files = new FakeFiles({
    wall: () => clock.wall(),
    fault: (operation) =>
      broken && operation === "append" ? new OutsideError("exhausted", "disk full") : undefined,
  });
  const log = (options = OPTIONS) =>
    new SegmentLog(options, { state: new StateFiles({ files, clock, log: silentLog }), clock });
  const text = (path: string) => files.readText(path, { maxBytes: 1e6 });
  const breakDisk = (now: boolean) => {
    broken = now;
  };
  return { clock, files, log, text, breakDisk };
}

test("append: lines come back in order, also after a restart, and are written within a moment", async () => {
  const { clock, log, text } = world();
  const first = log();
  assert.deepEqual(await first.open(), []);
  first.append("one");
  first.append("two");
  assert.equal(await text("/logs/x-00000000.jsonl"), undefined);
  await clock.advance(50);
  assert.equal(await text("/logs/x-00000000.jsonl"), "one\ntwo\n");
  const second = log();
  assert.deepEqual(await second.open(), ["one", "two"]);
  second.append("three");
  assert.deepEqual(await second.read(), ["one", "two", "three"]);
});

test("append: segments are bounded in size and number, and say which one a line goes into", async () => {
  const { files, log } = world();
  const lines = log();
  await lines.open();
  const placed = new Map<number, string[]>();
  for (let i = 0; i < 40; i += 1) {
    const line = `line ${String(i).padStart(4, "0")}`;
    placed.set(lines.segment, [...(placed.get(lines.segment) ?? []), line]);
    lines.append(line);
    if (i % 7 === 0) await lines.flush();
  }
  const kept = await lines.read();
  assert.deepEqual(kept, [...placed.values()].slice(-3).flat());
  assert.ok(kept.length >= 6 && kept.length <= 9);
  const names = ((await files.list("/logs")) ?? []).map(({ name }) => name);
  assert.equal(names.length, 3);
  for (const name of names)
    assert.ok(((await files.facts(`/logs/${name}`))?.sizeBytes ?? 0) <= 30 + 10);
});

test("append: several logs share a folder", async () => {
  const { log } = world();
  const [x, y] = [log(), log({ ...OPTIONS, prefix: "y" })];
  await x.open();
  await y.open();
  x.append("of x");
  y.append("of y");
  assert.deepEqual(await x.read(), ["of x"]);
  assert.deepEqual(await y.read(), ["of y"]);
});

test("open: a torn last line costs that line only", async () => {
  const { files, log } = world();
  await files.makeDirectory("/logs", 0o700);
  await files.append("/logs/x-00000004.jsonl", "whole\ntor", 0o600);
  const lines = log();
  assert.deepEqual(await lines.open(), ["whole", "tor"]);
  lines.append("next");
  assert.deepEqual(await lines.read(), ["whole", "tor", "next"]);
});

test("open: damaged segments are set aside and named, the earlier ones too", async () => {
  const { files, clock } = world();
  await files.makeDirectory("/logs", 0o700);
  const contents = ["", "\0".repeat(100), "{1}\n{2}\n", "{3}\ngarbage\n{4}\n", "\0"];
  for (const [at, content] of contents.entries())
    await files.writeAtomic(`/logs/x-0000000${at}.jsonl`, content, 0o600);
  const state = new StateFiles({ files, clock, log: silentLog });
  const isLine = (line: string) => /^\{\d\}$/.test(line);
  const lines = new SegmentLog({ ...OPTIONS, isLine, segments: 9 }, { state, clock });
  await lines.open();
  assert.deepEqual(
    state.problems.get().map(({ kind, path }) => `${kind} ${path}`),
    [0, 1, 3, 4].map((at) => `setAside /logs/x-0000000${at}.jsonl`),
  );
  assert.deepEqual(await lines.read(), ["{1}", "{2}", "{3}", "{4}"]);
});

test("append: a full disk loses lines, counts them and goes on afterwards", async () => {
  const { log, breakDisk } = world();
  const lines = log({ ...OPTIONS, segmentBytes: 1000 });
  await lines.open();
  lines.append("before");
  await lines.flush();
  breakDisk(true);
  lines.append("lost");
  await lines.flush();
  assert.equal(lines.lost, 1);
  breakDisk(false);
  lines.append("after");
  assert.deepEqual(await lines.read(), ["before", "after"]);
});

test("append: lines of which a full disk took a half are whole once space was freed", async () => {
  const clock = new SimClock();
  const files: FakeFiles = new FakeFiles({
    wall: () => clock.wall(),
    fault: (operation) =>
      operation === "append" && files.paths.includes("/reserve") ? new TornAppend() : undefined,
  });
  const deps = { files, clock, log: silentLog };
  const reserve = new StateReserve("/reserve", { ...deps, freeBytes: async () => 0 });
  const state = new StateFiles({ ...deps, reserve });
  const file = { name: "x", holds: "lines", important: true } as const;
  const isLine = (line: string) => /^\{.*\}$/.test(line);
  const log = () =>
    new SegmentLog({ ...OPTIONS, segmentBytes: 1000, file, isLine }, { state, clock });
  const first = log();
  await first.open();
  first.append("{before}");
  await first.flush();
  await files.writeAtomic("/reserve", "space", 0o600);
  first.append("{one}");
  first.append("{another one}");
  await first.flush();
  const text = await files.readText("/logs/x-00000000.jsonl", { maxBytes: 1e6 });
  assert.equal(text, "{before}\n{one}\n{ano\n{one}\n{another one}\n");
  assert.equal(first.lost, 0);
  // A line that was taken as a whole is there twice.
  const kept = ["{before}", "{one}", "{one}", "{another one}"];
  assert.deepEqual(await log().open(), kept);
  assert.deepEqual(await log().read(), kept);
  assert.deepEqual(state.problems.get(), []);
});
