// The agent as a process on a node in a box: nodelet images against it, once with a real deletion.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectionAnswer } from "../../src/server/server.ts";
import type { ImagesReport } from "../../src/subsystems/images/images.ts";
import { type Box, startBox } from "../box/box.ts";
import { testImage } from "../box/images.ts";
import { PROGRAM } from "../support/program.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const MANIFESTS = "/etc/nodelet/manifests";
const CONFIG = "/etc/nodelet/config.yaml";
const POLICY = "/etc/nodelet/images.yaml";
const WAIT_MS = 60_000 * TIMEOUT_FACTOR;
const MIB = 2 ** 20;
const name = (letter: string) => `nodelet.test/${letter}:1`;

let box: Box;
before(async () => {
  box = await startBox({
    images: ["used", "kept", "old", "new"].map((word) =>
      testImage({ names: [name(word)], paddingBytes: 8 * MIB }),
    ),
  });
  mkdirSync(box.path(MANIFESTS));
  box.write(
    CONFIG,
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: ${MANIFESTS}
failCgroupV1: false
failSwapOn: false
imageMinimumGCAge: 1s
imageGCHighThresholdPercent: 99
imageGCLowThresholdPercent: 98
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
`,
  );
  box.write(
    POLICY,
    `apiVersion: nodelet.dev/v1alpha1
kind: ImagePolicy
keep: {names: [nodelet.test/kept, nodelet.test/nodelet-test]}
`,
  );
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "c", image: name("used"), imagePullPolicy: "Never" }],
    },
  };
  writeFileSync(box.path(`${MANIFESTS}/web.json`), JSON.stringify(pod));
  box.spawnLogged("agent", [
    process.execPath,
    PROGRAM,
    "run",
    `--config=${CONFIG}`,
    "--hostname-override=node-1",
    `--image-policy=${POLICY}`,
  ]);
  await until(async () => (await nodelet("get", "pods")).stdout.includes("Running"), "web runs");
});
after(() => box[Symbol.asyncDispose]());

const nodelet = (...args: readonly string[]) => box.exec([process.execPath, PROGRAM, ...args]);

async function until(test: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await test())) {
    if (performance.now() > deadline) throw new Error(`never so: ${what}\n${box.logs()}`);
    await sleep(200);
  }
}

async function json<T>(...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await nodelet(...args, "-o", "json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

test("what the dry run names is what goes; users, rules and the sandbox image keep theirs", async () => {
  await sleep(1_000);
  const report = await json<ImagesReport>("images");
  const rules = new Map(report.images.map(({ tags, rule }) => [tags[0], rule]));
  assert.deepEqual(
    ["used", "kept"].map((word) => rules.get(name(word))),
    ["in use", "kept by name"],
  );
  assert.equal(rules.get("nodelet.test/pause:1"), "pinned");
  assert.ok((report.disk?.capacityBytes ?? 0) > 0);
  const dry = await json<ImagesReport>("images", "gc", "--dry-run", "--free", "8Mi");
  const reported = dry.images.map(({ id }) => id);
  assert.equal(reported.length, 1);
  const done = await json<CollectionAnswer>("images", "gc", "--free", "8Mi");
  assert.deepEqual(
    done.removed.map(({ id }) => id),
    reported,
  );
  const rest = await json<CollectionAnswer>("images", "gc", "--unused");
  assert.deepEqual([...done.removed, ...rest.removed].map(({ tags }) => tags[0]).sort(), [
    name("new"),
    name("old"),
  ]);
  const left = await box.ctr("images", "list", "-q");
  assert.match(left, /nodelet\.test\/used:1/);
  assert.doesNotMatch(left, /nodelet\.test\/(old|new):1/);
  const { stdout } = await nodelet("get", "pods");
  assert.match(stdout, /web-node-1 +1\/1 +Running/);
});
