import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { isOutside } from "../../kit/errors.ts";
import { fileLocks } from "./file-locks.ts";

const isTaken = (thrown: unknown): boolean => isOutside(thrown, "alreadyExists");

test("fileLocks: one holder at a time, in the same process too; a lock that is let go can be taken", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "agent.lock");
    const first = await fileLocks.take(path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await assert.rejects(fileLocks.take(path), isTaken);
    assert.equal(await fileLocks.isHeld(path), true);
    await assert.rejects(fileLocks.take(path), isTaken, "checking it has not ended it");
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    assert.equal(await fileLocks.isHeld(path), false);
    (await fileLocks.take(path))[Symbol.dispose]();
    assert.equal(readFileSync(path, "utf8"), "");
  }));

const HOLD = `import { fileLocks } from "${import.meta.dirname}/file-locks.ts";
globalThis.held = await fileLocks.take(process.argv[1]);
console.log("held");
setInterval(() => {}, 1000);`;

test("fileLocks: the lock of a process that is killed ends with it", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "agent.lock");
    const child = spawn(process.execPath, ["--input-type=module", "-e", HOLD, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await assert.rejects(fileLocks.take(path), isTaken);
    assert.equal(await fileLocks.isHeld(path), true);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal(await fileLocks.isHeld(path), false);
    (await fileLocks.take(path))[Symbol.dispose]();
  }));

test("fileLocks: a damaged lock file is no obstacle, whatever its size", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "agent.lock");
    for (const damage of [
      () => writeFileSync(path, "garbage".repeat(1_000)),
      () => writeFileSync(path, "x"),
      () => truncateSync(path, 2 ** 30),
    ]) {
      damage();
      assert.equal(await fileLocks.isHeld(path), false);
      (await fileLocks.take(path))[Symbol.dispose]();
    }
  }));

test("fileLocks: what is no regular file is an error that names it", () =>
  withTemporaryFolder(async (folder) => {
    mkdirSync(join(folder, "folder"));
    symlinkSync("elsewhere", join(folder, "link"));
    for (const name of ["folder", "link", "missing/lock"]) {
      const path = join(folder, name);
      await assert.rejects(fileLocks.take(path), (thrown: unknown) => {
        assert.ok(isOutside(thrown) && !isTaken(thrown));
        assert.ok(thrown.message.includes(path), thrown.message);
        return true;
      });
    }
  }));
