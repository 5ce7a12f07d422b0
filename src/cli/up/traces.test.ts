// Traces that `up` records and leaves: ledger, processes, ports, packet filter, mounts.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { withFileLock } from "./file-lock.ts";
import { EMPTY_HOST_LEDGER, fileState, OpenLedger, readLedger, writeLedger } from "./ledger.ts";
import { parseRules } from "./network-traces.ts";
import { DEFAULT_PLACES, upPaths } from "./paths.ts";
import { endProcess, isRunning, markOf } from "./processes.ts";
import {
  claimSupervisor,
  orphanedAgent,
  readSupervisor,
  refuseWhileStopping,
} from "./supervise/supervisor-note.ts";
import { holderOf, listenersByPort, parseListeners } from "./taken-ports.ts";

test("a ledger comes back as it was written, and a strange one is none", () =>
  withTemporaryFolder((folder) => {
    const path = join(folder, "deep", "made.json");
    assert.equal(readLedger(path), undefined);
    const ledger = { ...EMPTY_HOST_LEDGER, folders: ["/a"], images: ["b"] };
    writeLedger(path, ledger);
    assert.deepEqual(readLedger(path), ledger);
    for (const text of ["", "null", "{", '{"format":99}']) {
      writeFileSync(path, text);
      assert.equal(readLedger(path), undefined, text);
    }
  }));

test("`OpenLedger` notes folders only while they are missing, and once", () =>
  withTemporaryFolder((folder) => {
    const path = join(folder, "made.json");
    const missing = join(folder, "missing");
    new OpenLedger(path).expectFolders([folder, missing]);
    new OpenLedger(path).expectFolders([folder, missing]);
    assert.deepEqual(readLedger(path)?.folders, [missing]);
  }));

const ADD_IMAGES = `
  const { OpenLedger } = await import(${JSON.stringify(join(import.meta.dirname, "ledger.ts"))});
  const [, path, name] = process.argv;
  for (let i = 0; i < 25; i += 1)
    new OpenLedger(path).change((now) => ({ userImages: [...now.userImages, name + i] }));
`;

test("`OpenLedger` keeps every change of commands that run at the same time", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "made.json");
    const runs = ["a", "b", "c", "d"].map((name) =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", ADD_IMAGES, path, name]),
    );
    await Promise.all(runs);
    assert.equal(new Set(readLedger(path)?.userImages).size, 100);
  }));

test("a lock is free again when its holder is killed", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "lock");
    const program = `
      const { withFileLock } = await import(${JSON.stringify(join(import.meta.dirname, "file-lock.ts"))});
      withFileLock(${JSON.stringify(path)}, () => {
        console.log("held");
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
      });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    assert.equal(
      withFileLock(path, () => 1),
      1,
    );
  }));

test("`fileState` distinguishes ours from the user's, also after a change", () =>
  withTemporaryFolder((folder) => {
    const ledger = new OpenLedger(join(folder, "made.json"));
    const file = join(folder, "config.yaml");
    assert.equal(fileState(ledger.now, file), "absent");
    writeFileSync(file, "mine");
    assert.equal(fileState(ledger.now, file), "foreign");
    ledger.writeFile(file, "ours", 0o600);
    assert.equal(fileState(ledger.now, file), "ours");
    writeFileSync(file, "changed");
    assert.equal(fileState(ledger.now, file), "changed");
    writeFileSync(file, "ours");
    assert.equal(fileState(ledger.now, file), "ours");
  }));

test("a process is known by its number and its beginning", async () => {
  const child = spawn("sleep", ["1000"]);
  const mark = markOf(child.pid ?? 0);
  assert.ok(mark && isRunning(mark));
  assert.ok(!isRunning({ ...mark, startTicks: mark.startTicks + 1 }));
  assert.ok(await endProcess(mark, 5_000));
  assert.ok(!isRunning(mark));
  assert.equal(markOf(2 ** 30), undefined);
});

test("`endProcess` kills a process that ignores SIGTERM, and leaves a foreign process alone", async () => {
  const child = spawn("sh", ["-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"]);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const mark = markOf(child.pid ?? 0);
  assert.ok(mark);
  assert.ok(await endProcess({ ...mark, startTicks: 1 }, 100));
  assert.ok(isRunning(mark), "another process of that number must not be touched");
  assert.ok(await endProcess(mark, 200));
});

test("`claimSupervisor` is for one process at a time", () =>
  withTemporaryFolder((folder) => {
    const paths = upPaths({ ...DEFAULT_PLACES, runDir: folder });
    {
      using claim = claimSupervisor(paths);
      assert.equal(readSupervisor(paths)?.supervisor.pid, process.pid);
      claim.note(markOf(process.ppid));
      assert.equal(readSupervisor(paths)?.agent?.pid, process.ppid);
    }
    assert.equal(readSupervisor(paths), undefined);
    {
      using _claim = claimSupervisor(paths, "stop");
      assert.doesNotThrow(() => refuseWhileStopping(paths), "its own claim");
    }
    const foreignProcess = markOf(process.ppid);
    writeFileSync(paths.supervisor, JSON.stringify({ supervisor: foreignProcess }));
    assert.throws(() => claimSupervisor(paths), /another nodelet up/);
    assert.doesNotThrow(() => refuseWhileStopping(paths));
    writeFileSync(
      paths.supervisor,
      JSON.stringify({ supervisor: foreignProcess, command: "down" }),
    );
    assert.throws(() => claimSupervisor(paths), /another nodelet down \(process \d+\) is running/);
    assert.throws(() => refuseWhileStopping(paths), /another nodelet down/);
    writeFileSync(
      paths.supervisor,
      JSON.stringify({ supervisor: { ...foreignProcess, startTicks: 1 } }),
    );
    claimSupervisor(paths)[Symbol.dispose]();
  }));

test("`claimSupervisor` finds the agent of a supervisor that is gone, and leaves one that runs on to the next", () =>
  withTemporaryFolder((folder) => {
    const paths = upPaths({ ...DEFAULT_PLACES, runDir: folder });
    const agent = markOf(process.ppid);
    const gone = { pid: process.pid, startTicks: 1 };
    writeFileSync(paths.supervisor, JSON.stringify({ supervisor: gone, agent }));
    assert.deepEqual(orphanedAgent(paths), agent);
    {
      using claim = claimSupervisor(paths);
      assert.deepEqual(claim.orphan, agent);
      assert.equal(orphanedAgent(paths), undefined, "it has a supervisor again");
      assert.deepEqual(readSupervisor(paths)?.agent, agent, "noted from the beginning");
    }
    assert.deepEqual(orphanedAgent(paths), agent);
    {
      using claim = claimSupervisor(paths);
      claim.note({ pid: process.pid, startTicks: 1 });
    }
    assert.ok(!existsSync(paths.supervisor));
  }));

test("`listenersByPort` and `holderOf` find who listens", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const listener = listenersByPort().get(port);
  assert.ok(listener);
  assert.equal(holderOf(listener)?.pid, process.pid);
  server.close();
});

test("`parseListeners` leaves connections out and reads both tables", () => {
  const head =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
  const line = (address: string, state: string, inode: number) =>
    `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0`;
  const text = [
    head,
    line("0100007F:2808", "0A", 11),
    line("0100007F:1F90", "01", 12),
    line("00000000000000000000000000000000:280A", "0A", 13),
  ].join("\n");
  assert.deepEqual(parseListeners(text), [
    { port: 10248, inode: "11" },
    { port: 10250, inode: "13" },
  ]);
});

test("`parseRules` keeps quoted comments together", () => {
  const text = [
    "-P FORWARD ACCEPT",
    "-N CNI-FORWARD",
    '-A FORWARD -m comment --comment "CNI \\"plugin\\" rules" -j CNI-FORWARD',
    "-A INPUT -p tcp",
  ].join("\n");
  assert.deepEqual(parseRules(text), [
    { kind: "chain", chain: "CNI-FORWARD", target: undefined, words: ["CNI-FORWARD"] },
    {
      kind: "rule",
      chain: "FORWARD",
      target: "CNI-FORWARD",
      words: ["FORWARD", "-m", "comment", "--comment", 'CNI "plugin" rules', "-j", "CNI-FORWARD"],
    },
    { kind: "rule", chain: "INPUT", target: undefined, words: ["INPUT", "-p", "tcp"] },
  ]);
});

for (const [what, damage] of Object.entries({
  empty: (path: string) => writeFileSync(path, ""),
  "cut off": (path: string) => writeFileSync(path, '{"format":1,"fold'),
  "of a newer version": (path: string) => writeFileSync(path, '{"format":99}'),
  "a folder": (path: string) => mkdirSync(path),
}))
  test(`\`OpenLedger\` sets notes that are ${what} aside and starts over`, () =>
    withTemporaryFolder((folder) => {
      const path = join(folder, "made.json");
      damage(path);
      const first = new OpenLedger(path);
      assert.equal(first.setAsideAs, `${path}.broken`);
      assert.ok(existsSync(`${path}.broken`));
      first.change(() => ({ folders: ["/made"] }));
      assert.deepEqual(readLedger(path)?.folders, ["/made"]);
      assert.equal(new OpenLedger(path).setAsideAs, undefined);
    }));
