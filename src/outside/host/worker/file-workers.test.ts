import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { fuseObstacle, TestFilesystem } from "../../../../test/support/fuse/test-filesystem.ts";
import { createSystemClock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { createFileWorkers, type FileWorkers } from "./file-workers.ts";

const obstacle = process.getuid?.() === 0 ? fuseObstacle() : "needs root: file systems are mounted";

describe("createFileWorkers", { skip: obstacle ?? false }, () => {
  let folder: string;
  let dead: string;
  let filesystem: TestFilesystem;
  let workers: FileWorkers;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "file-workers-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(async () => {
    dead = mkdtempSync(join(folder, "mount-"));
    filesystem = await TestFilesystem.mount(dead);
    workers = createFileWorkers({ clock: createSystemClock(), log: silentLog });
  });
  afterEach(() => {
    filesystem.end();
    workers.close();
  });

  const threadsOf = () => readdirSync("/proc/self/task").length;

  test("a file system that does not answer costs its own requests a limit, others nothing", async () => {
    writeFileSync(join(folder, "near"), "near");
    await workers.podFiles.facts(join(folder, "near"));
    await filesystem.become("hang");
    const before = threadsOf();
    const asked = [
      workers.podFiles.facts(dead),
      workers.podFiles.list(dead),
      workers.podFiles.readTail(dead, "file", 10),
      workers.diskUsage(dead),
      workers.podFiles.removeTree(join(dead, "file")),
      workers.volumes.giveToGroup(dead, { groupId: 7, readOnly: false }),
    ];
    const settled = Promise.allSettled(asked);
    const waits: number[] = [];
    for (let i = 0; i < 200; i += 1) {
      const began = performance.now();
      assert.equal(await workers.podFiles.readTail(folder, "near", 10), "near");
      waits.push(performance.now() - began);
    }
    const longest = Math.max(...waits);
    assert.ok(longest < 8_000, `a local file was kept waiting for ${longest} ms`);
    for (const result of await settled) {
      assert.equal(result.status, "rejected");
      assert.ok(isOutside(result.reason, "deadline", "unavailable"), String(result.reason));
      assert.match(result.reason.message, /unknown, because fuse at .*\/mount-/);
    }
    assert.equal(threadsOf(), before, "threads of this process hang");
    const { stuck, unanswered } = workers.facts();
    assert.ok(stuck >= 1 && stuck <= 4, `${stuck} processes were left behind`);
    assert.deepEqual(
      unanswered.map(({ shown }) => shown),
      [`fuse at ${dead}`],
    );
  });

  test("what has not answered is not asked again, and is as soon as it answers", async () => {
    await filesystem.become("hang");
    await assert.rejects(workers.podFiles.facts(dead), /did not answer within 10 s/);
    const began = performance.now();
    await assert.rejects(workers.podFiles.facts(dead), /has not answered for \d+ s/);
    await assert.rejects(workers.podFiles.list(join(dead, "x")), /has not answered/);
    assert.ok(performance.now() - began < 2_000, "it was asked again");
    await sleep(1_500);
    await filesystem.become("answer");
    for (let tries = 0; workers.facts().stuck > 0 && tries < 100; tries += 1) await sleep(20);
    assert.equal((await workers.podFiles.facts(dead))?.kind, "directory");
    assert.deepEqual(workers.facts().unanswered, []);
    assert.equal(await workers.podFiles.readTail(dead, "file", 10), "hello\n");
  });

  test("several file systems that hang hold up a local request no longer than one", async () => {
    const clock = new SimClock();
    const own = createFileWorkers({ clock, log: silentLog });
    const others: TestFilesystem[] = [];
    const places = [1, 2, 3, 4].map(() => mkdtempSync(join(folder, "hung-")));
    try {
      await own.podFiles.facts(folder);
      for (const place of places) others.push(await TestFilesystem.mount(place));
      for (const each of others) await each.become("hang");
      for (const place of places) own.podFiles.facts(place).catch(() => {});
      let isAnswered = false;
      void own.podFiles.facts(folder).then(() => {
        isAnswered = true;
      });
      let waitedMs = 0;
      for (; !isAnswered && waitedMs < 3_000; waitedMs += 50) {
        await clock.advance(50);
        // Workers that were started meanwhile begin, and block.
        await sleep(500);
      }
      assert.ok(waitedMs <= 1_600, `${waitedMs} ms`);
    } finally {
      for (const each of others) await each.become("answer");
      own.close();
      for (const each of others) each.end();
    }
  });

  test("a mount below a folder is left out of its size without being asked", async () => {
    const above = mkdtempSync(join(folder, "volume-"));
    mkdirSync(join(above, "deep"));
    writeFileSync(join(above, "deep/a"), "x".repeat(5000));
    const inside = await TestFilesystem.mount(join(above, "deep"));
    try {
      await inside.become("hang");
      const [tree] = await workers.podFiles.measureTrees(
        [above],
        { maxEntries: 100 },
        AbortSignal.timeout(9_000),
      );
      assert.ok(tree?.kind === "measured");
      assert.deepEqual([tree.size.inodes, tree.size.complete], [1, true]);
      assert.equal(workers.facts().timeouts, 0);
    } finally {
      inside.end();
    }
  });

  test("of folders that are measured in one request none is suspected when one hangs", async () => {
    const others = ["one", "two"].map((name) => mkdtempSync(join(folder, name)));
    const measure = (paths: readonly string[]) =>
      workers.podFiles.measureTrees(paths, { maxEntries: 100 }, new AbortController().signal);
    const kinds = async (paths: readonly string[]) =>
      (await measure(paths)).map(({ kind }) => kind);
    await filesystem.become("hang");
    const [first = "", ...rest] = others;
    const together = assert.rejects(
      measure([first, dead, ...rest]),
      /measureTrees 3 paths: one did not answer within 10 s/,
    );
    await sleep(1_500);
    assert.deepEqual(await kinds([first]), ["measured"], "others wait for it");
    await together;
    assert.deepEqual(workers.facts().unanswered, []);
    assert.deepEqual(await kinds(others), ["measured", "measured"]);
    await filesystem.become("answer");
    assert.deepEqual(await kinds([...others, dead]), ["measured", "measured", "measured"]);
  });

  test("a reader of logs goes on when its worker is replaced", async () => {
    mkdirSync(join(folder, "logs/c"), { recursive: true });
    writeFileSync(join(folder, "logs/c/0.log"), "one\n");
    await using logs = await workers.openFolder(folder, "logs/c");
    assert.ok(logs);
    await using file = await logs.open("0.log");
    assert.ok(file);
    await using hanging = await workers.openFolder(dead, ".");
    await filesystem.become("hang");
    await assert.rejects(async () => hanging?.list(), /did not answer within 10 s/);
    assert.equal(Buffer.from(await file.read(0, 100)).toString(), "one\n");
    assert.deepEqual(
      (await logs.list()).map(({ name }) => name),
      ["0.log"],
    );
    let changes = 0;
    const stop = logs.watch(() => {
      changes += 1;
    });
    await sleep(200);
    writeFileSync(join(folder, "logs/c/0.log"), "one\ntwo\n");
    for (let tries = 0; changes === 0 && tries < 100; tries += 1) await sleep(20);
    stop();
    assert.ok(changes > 0, "no change was reported");
  });

  test("no worker is started for requests that only wait for a CPU", async () => {
    const path = join(folder, "shared");
    writeFileSync(path, "x");
    await workers.podFiles.facts(path);
    const burners = Array.from({ length: availableParallelism() * 4 }, () =>
      spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
    );
    try {
      await sleep(500);
      const all = Array.from({ length: 1_000 }, () => workers.podFiles.facts(path));
      await Promise.all(all);
      assert.equal(workers.facts().workers, 1);
    } finally {
      for (const burner of burners) burner.kill("SIGKILL");
    }
  });

  test("requests go on beside one that takes its time", async () => {
    const path = join(folder, "small");
    writeFileSync(path, "x");
    writeFileSync(join(folder, "large"), randomBytes(64 * 2 ** 20));
    let isZipped = false;
    const zipped = workers.podFiles
      .changeBeneath(folder, "", [{ kind: "zip", name: "large" }])
      .then(() => {
        isZipped = true;
      });
    await sleep(100);
    assert.equal((await workers.podFiles.facts(path))?.kind, "file");
    assert.equal(isZipped, false, "a request waited for the longer one");
    await zipped;
  });

  test("workers are few, and gone when they are not needed", async () => {
    const path = join(folder, "shared");
    writeFileSync(path, "x");
    const all = Array.from({ length: 500 }, () => workers.podFiles.facts(path));
    await Promise.all(all);
    const { workers: count } = workers.facts();
    assert.ok(count >= 1 && count <= 4, `${count} workers`);
    workers.close();
    await ended();
    await assert.rejects(workers.podFiles.facts(path), /shutting down/);
  });
});

describe("createFileWorkers at rest", () => {
  const clock = new SimClock();
  const folder = mkdtempSync(join(tmpdir(), "file-workers-"));
  const workers = createFileWorkers({ clock, log: silentLog });
  after(() => {
    workers.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the only worker wakes nobody when it has answered", async () => {
    await workers.podFiles.facts(folder);
    assert.deepEqual([workers.facts().workers, clock.pending], [1, 0]);
  });

  test("the worker for readers of logs ends when nothing is held open, and never under a request", async () => {
    const gone = async () => {
      await clock.advance(30_000);
      await ended("--side-by-side");
    };
    assert.equal(await workers.openFolder(folder, "missing"), undefined);
    await gone();
    const held = await workers.openFolder(folder, ".");
    await clock.advance(120_000);
    assert.deepEqual(await held?.list(), []);
    await held?.[Symbol.asyncDispose]();
    await clock.advance(29_999);
    const opening = workers.openFolder(folder, ".");
    await clock.advance(1);
    const again = await opening;
    assert.deepEqual(await again?.list(), []);
    await again?.[Symbol.asyncDispose]();
    await gone();
  });

  test("a folder whose worker was replaced is opened once, however many ask for it", async () => {
    const held = await workers.openFolder(folder, ".");
    const [pid] = workerPids("--side-by-side");
    process.kill(Number(pid), "SIGKILL");
    await ended("--side-by-side");
    assert.deepEqual(await Promise.all([held?.list(), held?.list()]), [[], []]);
    await held?.[Symbol.asyncDispose]();
    await clock.advance(30_000);
    await ended("--side-by-side");
  });
});

test("a worker gives back the pages of its program, and none is started for it", async () => {
  const workers = createFileWorkers({ clock: createSystemClock(), log: silentLog });
  try {
    // Those of the tests before are ending.
    await ended();
    await workers.releaseMemory();
    assert.deepEqual(workerPids(), []);
    await workers.podFiles.facts(tmpdir());
    const [pid] = workerPids();
    const fileKib = () =>
      Number(/RssFile:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    const before = fileKib();
    await workers.releaseMemory();
    const after = fileKib();
    assert.ok(after < before / 2, `${before} KiB before, ${after} KiB after`);
    assert.ok(await workers.podFiles.facts(tmpdir()));
  } finally {
    workers.close();
  }
});

/** Waits until there are no workers of this process, or none with that flag. */
async function ended(flag = ""): Promise<void> {
  for (let tries = 0; workerPids(flag).length > 0 && tries < 100; tries += 1) await sleep(20);
  assert.deepEqual(workerPids(flag), [], "workers that should have ended");
}

/** Children of this process that are file workers; with `flag` only those that were started with it. */
function workerPids(flag = ""): readonly string[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim();
  return children.split(" ").filter((pid) => {
    try {
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return commandLine.includes("worker/main.ts") && commandLine.includes(flag);
    } catch {
      return false;
    }
  });
}
