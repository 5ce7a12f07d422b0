import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { cacheDir } from "./cache-dir.mjs";
import { withLockSync } from "./setup/lock.mjs";

const folder = mkdtempSync(join(tmpdir(), "cache-dir-"));
after(() => rmSync(folder, { recursive: true }));

test("cacheDir: XDG_CACHE_HOME, else the account's home, whatever HOME says", () => {
  const account = { homedir: folder, uid: 7 };
  assert.equal(cacheDir({ XDG_CACHE_HOME: "/var/cache" }, account), "/var/cache/nodelet");
  for (const environment of [{}, { HOME: "" }, { HOME: "/nowhere" }, { XDG_CACHE_HOME: "" }])
    assert.equal(cacheDir(environment, account), `${folder}/.cache/nodelet`);
  assert.equal(cacheDir({ XDG_CACHE_HOME: "relative" }, account), `${folder}/.cache/nodelet`);
});

test("cacheDir: an account without a home that can be written to has a folder of its own", () => {
  writeFileSync(join(folder, "file"), "");
  const usual = join(tmpdir(), "nodelet-cache-7");
  assert.equal(cacheDir({}, { homedir: join(folder, "file"), uid: 7 }), usual);
  assert.equal(cacheDir({}, { homedir: "", uid: 7 }), usual);
  assert.equal(cacheDir({}, { uid: 7 }), usual);
});

test("cacheDir: a process without HOME has the same absolute folder", () => {
  const url = new URL("./cache-dir.mjs", import.meta.url).href;
  const script = `import(${JSON.stringify(url)}).then(({ cacheDir }) => console.log(cacheDir()))`;
  const reported = (env: NodeJS.ProcessEnv) =>
    spawnSync(process.execPath, ["-e", script], { encoding: "utf8", env }).stdout.trim();
  const expected = cacheDir({}, userInfo());
  assert.deepEqual(
    [reported({}), reported({ HOME: "" }), reported({ HOME: folder })],
    Array(3).fill(expected),
  );
});

test("withLockSync: waits for a holder that lives, and takes over from one that is gone", () => {
  const path = join(folder, "lock");
  const url = new URL("./setup/lock.mjs", import.meta.url).href;
  const others = `
    import(${JSON.stringify(url)}).then(({ withLockSync }) => {
      withLockSync(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"));
    });`;
  spawnSync(process.execPath, ["-e", others]);
  assert.ok(existsSync(path), "the killed holder left its lock");
  const seen = withLockSync(path, () => readFileSync(path, "utf8"));
  assert.equal(seen.split(" ")[0], `${process.pid}`);
  assert.equal(existsSync(path), false);
});

test("withLockSync: a number that another process has by now is no holder", () => {
  const path = join(folder, "reused");
  writeFileSync(path, "1 123456789");
  assert.equal(
    withLockSync(path, () => "done"),
    "done",
  );
});

test("withLockSync: two processes never work at once", () => {
  const path = join(folder, "both");
  const url = new URL("./setup/lock.mjs", import.meta.url).href;
  const work = `
    const fs = require("node:fs");
    import(${JSON.stringify(url)}).then(({ withLockSync }) => {
      for (let i = 0; i < 20; i++)
        withLockSync(${JSON.stringify(path)}, () => {
          fs.writeFileSync(${JSON.stringify(`${path}.inside`)}, "", { flag: "wx" });
          fs.rmSync(${JSON.stringify(`${path}.inside`)});
        });
    });`;
  const script = join(folder, "two.sh");
  writeFileSync(script, `"$NODE" -e "$WORK" & "$NODE" -e "$WORK" || exit 1; wait $!`);
  chmodSync(script, 0o755);
  const { status, stderr } = spawnSync("sh", [script], {
    encoding: "utf8",
    env: { ...process.env, NODE: process.execPath, WORK: work },
  });
  assert.equal(status, 0, stderr);
});
