// What a containerd 2 brings a newcomer: a pod with ids of its own, an image as a volume and a limit of memory, on the node
// that `npm start -- --demo` makes. On a guest with cgroup v2 the machine's containerd is one, elsewhere today's is used.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { containerdPrograms, usualContainerd } from "../box/containerd.ts";
import { runcProgram } from "../box/runc.ts";
import { bareMachine } from "../cli/node-box.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const ROOT = join(import.meta.dirname, "../..");
const START_MS = 240_000 * TIMEOUT_FACTOR;
const MANIFEST = "/etc/nodelet/manifests/newer.yaml";
const IMAGE = "localhost/nodelet/hello:1";
const POD = `{apiVersion: v1, kind: Pod, metadata: {name: newer}, spec: {hostUsers: false, terminationGracePeriodSeconds: 0,
  volumes: [{name: image, image: {reference: "${IMAGE}", pullPolicy: Never}}],
  containers: [{name: main, image: "${IMAGE}", imagePullPolicy: Never, command: [sleep, "1000000"],
    volumeMounts: [{name: image, mountPath: /image}], resources: {limits: {memory: 48Mi}}}]}}`;

const LIMIT =
  "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes";

const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly scripts: { readonly start: string };
};

/** Where a newcomer's containerd 2 and its runc are found before the machine's own, and the Node that runs this. */
function programsPath(): string {
  const usual = ["/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"];
  const today =
    usualContainerd() === "2.4"
      ? [containerdPrograms("2.4").folder, dirname(runcProgram("1.5"))]
      : [];
  return [...today, ...usual, dirname(process.execPath)].join(":");
}

test("npm start -- --demo with containerd 2: user namespace, image volume, memory limit, and down leaves nothing", async () => {
  await using node = await bareMachine();
  const before = await node.picture();
  const env = { PATH: programsPath() };
  const command = `${scripts.start} --demo --detach --until-ready`;
  const options = { cwd: ROOT, env, timeoutMs: START_MS };
  const started = await node.box.exec(["sh", "-c", command], options);
  assert.equal(started.code, 0, started.stdout + started.stderr);
  assert.match(await node.run("version"), /on containerd v?2\./);
  assert.match(await node.run("get", "nodes"), /^\S+ +Ready /m);
  node.box.write(MANIFEST, POD);
  const ready = await node.nodelet(["up", "--until-ready", "--detach"], env);
  assert.equal(ready.code, 0, ready.stdout + ready.stderr);
  const inside = (script: string) => node.run("exec", "newer", "--", "sh", "-c", script);

  const map = (await inside("cat /proc/self/uid_map")).trim().split(/\s+/).map(Number);
  assert.deepEqual([map[0], map[2]], [0, 65_536]);
  assert.ok((map[1] ?? 0) >= 65_536, `its root is user ${map[1]} of the node`);
  assert.match(await inside("ls /image/bin/busybox"), /busybox/);
  assert.match(await inside("touch /image/x 2>&1 || true"), /Read-only file system/);
  assert.equal((await inside(LIMIT)).trim(), String(48 * 1024 ** 2));

  rmSync(node.box.path(MANIFEST));
  assert.match(await node.run("down"), /hello-\S+: gone/);
  assert.deepEqual(await node.changesSince(before), []);
});
