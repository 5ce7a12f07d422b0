// `nodelet up` on machines that have a containerd already.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PAUSE_IMAGE, TEST_IMAGE } from "../box/images.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { bareMachine } from "./node-box.ts";

const FOREIGN = JSON.stringify({
  metadata: { name: "foreign", namespace: "other", uid: "1234", attempt: 0 },
  log_directory: "/var/log/foreign",
  linux: {},
});

test("up uses the machine's containerd, and down leaves it as it was", async () => {
  await using node = await bareMachine({ containerd: "machine", network: true });
  const images = () => node.box.ctr("images", "list", "-q");
  const before = { picture: await node.picture(), images: await images() };
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(
    up.stdout,
    /^(?:warn|ok) +containerd +containerd \d\S+ at \/run\/containerd\/containerd\.sock$/m,
  );
  assert.equal((await node.pids("containerd")).length, 1);
  await node.run("down");
  assert.equal((await node.pids("containerd")).length, 1);
  assert.equal(await images(), before.images);
  // containerd keeps what it has unpacked until it collects its garbage, and its network plugins their chains.
  const changes = (await node.changesSince(before.picture)).filter(
    (line) => !/\/var\/lib\/(containerd|cni)\/|\/run\/containerd\/|CNI-|cni0/.test(line),
  );
  assert.deepEqual(changes, []);
});

test("up leaves a containerd with other pods alone and starts its own", async () => {
  await using node = await bareMachine({ containerd: "machine", network: true });
  node.box.write("/run/tmp/pod.json", FOREIGN);
  await node.box.ctr(
    "run",
    "--detach",
    "--label",
    "io.cri-containerd.kind=sandbox",
    TEST_IMAGE,
    "no-pod",
    "sleep",
    "1000",
  );
  const { connectCri } = await import("../../src/outside/cri/connect-cri.ts");
  const cri = connectCri({
    runtimeEndpoint: `unix://${node.box.criSocket}`,
    timeoutMs: 30_000 * TIMEOUT_FACTOR,
  });
  const { signal } = new AbortController();
  const sandbox = await cri.runtime.runSandbox(
    {
      metadata: { name: "foreign", namespace: "other", uid: "1", attempt: 0 },
      logDirectory: "/var/log/foreign",
      linux: {},
    },
    "",
    signal,
  );
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(
    up.stdout,
    /nodelet starts its own; the one that was found is not used: it runs a pod of another agent/,
  );
  const named = await node.nodelet([
    "up",
    "--check",
    "--containerd=/run/containerd/containerd.sock",
  ]);
  assert.equal(named.code, 1);
  assert.match(named.stdout, /fail +containerd .*which would be stopped/);
  await node.run("down");
  assert.equal((await cri.runtime.sandboxStatus(sandbox, signal)).id, sandbox);
  assert.equal((await node.pids("containerd")).length, 1);
  cri.close();
});

// Up to 1.7 its status contains the image, from 2.0 on only its configuration.
for (const containerd of ["machine", "2.1"] as const)
  test(`containerd ${containerd}: a sandbox image that cannot be pulled is built here, and goes with down`, async () => {
    await using node = await bareMachine({ containerd, network: true });
    await node.box.ctr("images", "remove", "--sync", PAUSE_IMAGE);
    const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
    assert.equal(up.code, 0, up.stdout + up.stderr);
    assert.match(up.stderr, /pause:1 cannot be pulled; building a substitute on this machine/);
    assert.match(await node.run("down"), /image nodelet\.test\/pause:1/);
    assert.doesNotMatch(await node.box.ctr("images", "list", "-q"), /pause/);
  });

test("a configuration that is kept and names another runtime is reported with the fix", async () => {
  await using node = await bareMachine();
  const endpoint = "unix:///run/containerd/containerd.sock";
  node.box.write(
    "/etc/nodelet/config.yaml",
    `{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, failCgroupV1: false, containerRuntimeEndpoint: "${endpoint}"}`,
  );
  const up = await node.nodelet(["up", "--detach", "--timeout=2s"]);
  assert.match(
    up.stderr,
    /config\.yaml has containerRuntimeEndpoint: unix:\/\/\/run\/containerd\/containerd\.sock, but the runtime of this node is at unix:\/\/\/run\/nodelet\/containerd\/containerd\.sock: correct it in the file, or .*--containerd/,
  );
  await node.run("down");
});

test("another kubelet on the machine is not disturbed", async () => {
  await using node = await bareMachine();
  const other = node.box.spawn(["sh", "-c", "printf kubelet >/proc/$$/comm; read _"]);
  await other.pid();
  await node.box.run(["sh", "-c", "until pgrep -x kubelet; do sleep 0.05; done"]);
  const { code, stdout } = await node.nodelet(["up"]);
  assert.equal(code, 1);
  assert.match(stdout, /fail +other agents +kubelet \(\d+\) is already running pods here/);
});
