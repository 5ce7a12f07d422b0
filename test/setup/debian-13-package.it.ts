// The Debian package on Debian 13, as a newcomer has it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { assertServes, debian13, debian13Obstacle, ROOT, START_MS, version } from "./debian-13.ts";

const BUILD_MS = 240_000 * TIMEOUT_FACTOR;
const out = mkdtempSync(join(tmpdir(), "debian-13-"));
after(() => rmSync(out, { recursive: true, force: true }));

test("the Debian package on Debian 13: installed, run, purged without a trace", {
  skip: debian13Obstacle(),
}, async () => {
  const processor = process.arch;
  const argv = ["--out", out, "--processor", processor, "--uncompressed", "deb"];
  execFileSync(process.execPath, [join(ROOT, "tools/package/package.mjs"), ...argv], {
    // Where the checkout is without its history, the time of the commit is unknown.
    env: { ...process.env, SOURCE_DATE_EPOCH: "1700000000" },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: BUILD_MS,
  });
  const file = `nodelet_${version}_${processor === "x64" ? "amd64" : processor}.deb`;
  // As systemd has started it on a Debian 13; the package's configuration names it.
  const running = { containerd: "machine", network: true } as const;
  await using node = await debian13(running, "/usr/bin/nodelet");
  copyFileSync(join(out, file), node.box.path(`/run/tmp/${file}`));
  const before = await node.picture();
  await node.box.run(["dpkg", "--install", `/run/tmp/${file}`], { timeoutMs: START_MS });
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  await assertServes(node);
  rmSync(node.box.path("/etc/nodelet/manifests/limited.yaml"));
  await node.run("down");
  await node.box.run(["dpkg", "--purge", "nodelet"]);
  // What dpkg notes of itself, what the machine's containerd keeps of images and networks, and a folder that the box made.
  const own =
    /\/var\/lib\/(?:dpkg|systemd|containerd|cni)\/|\/var\/log\/dpkg\.log|\/var\/cache\/|\/run\/containerd\/|CNI-|cni0|\/run\/nodelet$/;
  const changes = await node.changesSince(before);
  assert.deepEqual(
    changes.filter((line) => !own.test(line)),
    [],
  );
});
