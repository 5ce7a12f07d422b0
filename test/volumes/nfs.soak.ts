// Volumes of a file server: a machine that QEMU emulates, with a kernel that has nfs, in which `nfs/shares.ts` runs.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { buildAll } from "../../tools/build.mjs";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";
import { guestObstacle } from "../../tools/guest/guest.mjs";
import { runOnNuma } from "../../tools/guest/numa.mjs";
import { installNfs, NFS_PACKAGES } from "./nfs/file-server.ts";

const ROOT = join(import.meta.dirname, "../..");
const LIMIT_MS = 3_600_000;
/** Everything takes about so many times longer there. */
const TIMEOUT_FACTOR = 12;

test("in a guest with a file server", { skip: guestObstacle() ?? false }, async () => {
  await buildAll({ say: () => {} });
  const { suite, programs, libraries } = NFS_PACKAGES;
  fetchPackages(suite, [...programs, ...libraries]);
  const command = [
    installNfs(),
    `cd ${ROOT}`,
    `export XDG_CACHE_HOME=${join(CACHE_DIR, "..")} NODELET_TEST_TIMEOUT_FACTOR=${TIMEOUT_FACTOR}`,
    `${process.execPath} --test test/volumes/nfs/shares.ts`,
  ].join("\n");
  const { code, output } = await runOnNuma(command, { timeoutMs: LIMIT_MS, onLine: console.log });
  assert.equal(code, 0, output);
});
