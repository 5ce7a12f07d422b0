// Debian 13 with nothing but its own packages, as a newcomer has it: from the checkout, and from the Debian package.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { debianObstacle, debianRoot } from "../../tools/guest/debian-root.mjs";
import type { BoxOptions } from "../box/box.ts";
import { boxObstacle } from "../box/prerequisites.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const ROOT = join(import.meta.dirname, "../..");
const SUITE = "trixie";
/** What `npm start` would install, since a box reaches no archive, and the Node that Debian 13 has. */
const PACKAGES = [
  ...["containerd", "runc", "crun", "containernetworking-plugins", "iptables", "iproute2"],
  ...["busybox-static", "ca-certificates", "libatomic1", "init-system-helpers", "nodejs", "procps"],
];
const START_MS = 240_000 * TIMEOUT_FACTOR;
const BUILD_MS = 240_000 * TIMEOUT_FACTOR;

const skip = boxObstacle() ?? debianObstacle(SUITE, PACKAGES) ?? false;
const { version, scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly scripts: { readonly start: string };
};
const out = mkdtempSync(join(tmpdir(), "debian-13-"));
after(() => rmSync(out, { recursive: true, force: true }));

/** A box with Debian 13; the program is that of the checkout unless another is named. */
const machine = (options: BoxOptions = {}, program?: string): Promise<NodeBox> =>
  bareMachine({ root: debianRoot(SUITE, PACKAGES), storeMib: 1024, ...options }, program);

/** A pod of the example's image that only sleeps, with a limit that a command in it can read. */
const LIMITED = `{apiVersion: v1, kind: Pod, metadata: {name: limited}, spec: {terminationGracePeriodSeconds: 0,
  containers: [{name: main, image: "localhost/nodelet/hello:1", imagePullPolicy: Never, command: [sleep, "1000000"],
    resources: {limits: {memory: 48Mi}}}]}}`;
const READ_LIMIT =
  "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes";

/** Shows that the node has Debian 13's programs, serves the example and limits memory. */
async function assertServes(node: NodeBox): Promise<void> {
  assert.match(await node.box.run(["cat", "/etc/os-release"]), /VERSION_CODENAME=trixie/);
  assert.match(await node.run("version"), /on containerd 1\.7\./);
  assert.match(await node.run("get", "nodes"), /^\S+ +Ready /m);
  assert.match(await node.run("get", "pods"), /^hello-\S+ +1\/1 +Running/m);
  assert.match(await node.run("logs", "hello"), /^serving \/www on port 8080$/m);
  node.box.write("/etc/nodelet/manifests/limited.yaml", LIMITED);
  await node.run("up", "--until-ready", "--detach");
  const limit = await node.run("exec", "limited", "--", "sh", "-c", READ_LIMIT);
  assert.equal(limit.trim(), String(48 * 1024 ** 2));
}

test("npm start -- --demo makes Debian 13 a node with its own Node 20, and down leaves nothing", {
  skip,
}, async () => {
  await using node = await machine();
  const before = await node.picture();
  assert.match(await node.box.run(["node", "--version"]), /^v20\./);
  // What npm runs for it.
  const command = `${scripts.start} --demo --detach --until-ready`;
  const started = await node.box.exec(["sh", "-c", command], { cwd: ROOT, timeoutMs: START_MS });
  assert.equal(started.code, 0, started.stdout + started.stderr);
  assert.match(started.stdout, /hello is ready: curl http:\/\/10\.85\.0\.\d+:8080\/$/m);
  await assertServes(node);
  rmSync(node.box.path("/etc/nodelet/manifests/limited.yaml"));
  assert.match(await node.run("down"), /hello-\S+: gone/);
  assert.deepEqual(await node.changesSince(before), []);
});

test("the Debian package on Debian 13: installed, run, purged without a trace", {
  skip,
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
  await using node = await machine(running, "/usr/bin/nodelet");
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
