/** Debian 13 in a box, with nothing but its own packages, as a newcomer has it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { debianObstacle, debianRoot } from "../../tools/guest/debian-root.mjs";
import type { BoxOptions } from "../box/box.ts";
import { boxObstacle } from "../box/prerequisites.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

/** The checkout. */
export const ROOT = join(import.meta.dirname, "../..");
const SUITE = "trixie";
/** What `npm start` would install, since a box reaches no archive, and the Node that Debian 13 has. */
const PACKAGES = [
  ...["containerd", "runc", "crun", "containernetworking-plugins", "iptables", "iproute2"],
  ...["busybox-static", "ca-certificates", "libatomic1", "init-system-helpers", "nodejs", "procps"],
];
/** Within it a command that sets up a node ends. */
export const START_MS = 240_000 * TIMEOUT_FACTOR;

/** What `package.json` says of the checkout. */
export const { version, scripts } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
) as { readonly version: string; readonly scripts: { readonly start: string } };

/** Why there is no such box here, in words for a skipped test; `false` when there is. */
export const debian13Obstacle = (): string | false =>
  boxObstacle() ?? debianObstacle(SUITE, PACKAGES) ?? false;

/** A box with Debian 13; the program is that of the checkout unless another is named. */
export const debian13 = (options: BoxOptions = {}, program?: string): Promise<NodeBox> =>
  bareMachine({ root: debianRoot(SUITE, PACKAGES), storeMib: 1024, ...options }, program);

/** A pod of the example's image that only sleeps, with a limit that a command in it can read. */
const LIMITED = `{apiVersion: v1, kind: Pod, metadata: {name: limited}, spec: {terminationGracePeriodSeconds: 0,
  containers: [{name: main, image: "localhost/nodelet/hello:1", imagePullPolicy: Never, command: [sleep, "1000000"],
    resources: {limits: {memory: 48Mi}}}]}}`;
const READ_LIMIT =
  "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes";

/** Shows that the node has Debian 13's programs, serves the example and limits memory. */
export async function assertServes(node: NodeBox): Promise<void> {
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
