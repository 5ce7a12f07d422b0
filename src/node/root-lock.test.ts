import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../test/support/temporary-folder.ts";
import { createSystemClock } from "../kit/clock.ts";
import { UsageError } from "../kit/errors.ts";
import { type Log, silentLog } from "../kit/log.ts";
import { connectMachine } from "../outside/connect.ts";
import { lockRoot } from "./root-lock.ts";

const { host } = connectMachine(silentLog);
const { signal } = new AbortController();

function world() {
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  const clock = createSystemClock();
  return { warnings, deps: { clock, log, host } };
}

test("lockRoot: a second agent is refused with the holder of the lock; once that ends it is let in", () =>
  withTemporaryFolder(async (folder) => {
    const rootFolder = join(folder, "root");
    const { deps, warnings } = world();
    const first = await lockRoot({ rootFolder, nodeName: "edge-1" }, deps, signal);
    await assert.rejects(
      lockRoot({ rootFolder, nodeName: "edge-2" }, deps, signal),
      (thrown: unknown) => {
        assert.ok(thrown instanceof UsageError);
        for (const part of [rootFolder, `process ${process.pid}, node edge-1`, "--root-dir"])
          assert.ok(thrown.message.includes(part), thrown.message);
        return true;
      },
    );
    assert.match(readFileSync(`${rootFolder}/nodelet/agent.holder`, "utf8"), /edge-1/);
    const waiting = lockRoot({ rootFolder, nodeName: "edge-2" }, deps, signal);
    first[Symbol.dispose]();
    (await waiting)[Symbol.dispose]();
    assert.deepEqual(warnings, []);
  }));

test("lockRoot: another path to the same root is the same root; another root is none of it", () =>
  withTemporaryFolder(async (folder) => {
    const { deps } = world();
    const rootFolder = `${folder}/root`;
    using _held = await lockRoot({ rootFolder, nodeName: "a" }, deps, signal);
    await assert.rejects(
      lockRoot({ rootFolder: `${folder}/./root`, nodeName: "b" }, deps, signal),
      UsageError,
    );
    using _other = await lockRoot({ rootFolder: `${folder}/other`, nodeName: "b" }, deps, signal);
  }));

test("lockRoot: modes of folders that are there stay; missing ones are made", () =>
  withTemporaryFolder(async (folder) => {
    const { deps } = world();
    const rootFolder = join(folder, "root");
    mkdirSync(rootFolder, { mode: 0o755 });
    using _lock = await lockRoot({ rootFolder, nodeName: "a" }, deps, signal);
    assert.equal(statSync(rootFolder).mode & 0o777, 0o755);
    assert.equal(statSync(join(rootFolder, "nodelet")).mode & 0o777, 0o700);
  }));

test("lockRoot: a root that cannot be locked is used all the same, with a warning", () =>
  withTemporaryFolder(async (folder) => {
    const { deps, warnings } = world();
    const rootFolder = join(folder, "root");
    writeFileSync(rootFolder, "");
    using _lock = await lockRoot({ rootFolder, nodeName: "a" }, deps, signal);
    assert.equal(warnings.length, 1);
    assert.ok(!existsSync(join(rootFolder, "nodelet")));
  }));
