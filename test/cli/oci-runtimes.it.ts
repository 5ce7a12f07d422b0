// OCI runtimes as handlers of the containerd that `up` starts: each is offered once it has run a container.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findProgram } from "../box/prerequisites.ts";
import { leaveHybrid } from "../support/hybrid-cgroups.ts";
import { bareMachine, type NodeBox } from "./node-box.ts";

const SOCKET = "/run/nodelet/containerd/containerd.sock";
const CONFIG = "/var/lib/nodelet/containerd.toml";
/** As crun 1.8.1 answers to what containerd 2.4 hands it: in the file that the shim names. */
const REFUSES = `#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" != --log ] || echo '{"level":"error","msg":"unknown version specified"}' >"$2"
  shift
done
exit 1
`;

/** Puts a program before the machine's own of that name. */
async function install(node: NodeBox, name: string, text: string): Promise<void> {
  node.box.write(`/usr/local/bin/${name}`, text);
  await node.box.run(["chmod", "+x", `/usr/local/bin/${name}`]);
}

/** Gets the runtime classes as kubectl does, by the kubeconfig for people. */
const GET_CLASSES = `const file = require("fs").readFileSync("/etc/nodelet/kubeconfig", "utf8");
  const { clusters: [{ cluster }], users: [{ user }] } = JSON.parse(file);
  const pem = (text) => Buffer.from(text, "base64");
  require("https").get(cluster.server + "/apis/node.k8s.io/v1/runtimeclasses", {
    ca: pem(cluster["certificate-authority-data"]),
    cert: pem(user["client-certificate-data"]),
    key: pem(user["client-key-data"]),
  }, (reply) => reply.pipe(process.stdout));`;

/** Handlers that there is a RuntimeClass for. */
async function classes(node: NodeBox): Promise<readonly string[]> {
  const text = await node.box.run([process.execPath, "-e", GET_CLASSES]);
  const { items } = JSON.parse(text) as { readonly items: readonly { readonly handler: string }[] };
  return items.map(({ handler }) => handler).toSorted();
}

const pod = (name: string, runtimeClass: string) =>
  `{apiVersion: v1, kind: Pod, metadata: {name: ${name}}, spec: {hostNetwork: true, terminationGracePeriodSeconds: 0,
  ${runtimeClass === "" ? "" : `runtimeClassName: ${runtimeClass},`}
  containers: [{name: a, image: localhost/nodelet/pause:1, imagePullPolicy: Never}]}}`;

/** The lines of containerd's configuration that name runtimes. */
async function configured(node: NodeBox): Promise<string> {
  return await node.box.run(["grep", "-E", "default_runtime_name|BinaryName", CONFIG]);
}

test("a runtime that runs no container is not offered, and the node runs its pods with runc", async () => {
  await using node = await bareMachine();
  const before = await node.picture();
  await install(node, "crun", REFUSES);
  await install(node, "youki", '#!/bin/sh\nexec runc "$@"\n');
  const up = await node.nodelet(["up", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(up.stdout, /^ok +OCI runtimes +crun, runc, youki; the default is crun if it can/m);
  assert.match(up.stderr, /crun is not offered, it ran no container: .*unknown version specified/);
  assert.deepEqual(await classes(node), ["runc", "youki"]);
  assert.match(await configured(node), /default_runtime_name = "runc"/);
  assert.doesNotMatch(await configured(node), /crun/);

  node.box.write("/etc/nodelet/manifests/a.yaml", pod("a", ""));
  node.box.write("/etc/nodelet/manifests/b.yaml", pod("b", "youki"));
  await node.printed(["get", "pods"], /^a-\S+ +1\/1 +Running(.|\n)*^b-\S+ +1\/1 +Running/m);
  node.box.write("/etc/nodelet/manifests/c.yaml", pod("c", "crun"));
  await node.printed(["why", "c"], /runtimeclass\.node\.k8s\.io "crun" not found/i);
  const shims = await node.box.run(["ctr", "-a", SOCKET, "-n", "k8s.io", "containers", "list"]);
  assert.doesNotMatch(shims, /trial/);
  for (const name of ["a", "b", "c"])
    await node.box.run(["rm", `/etc/nodelet/manifests/${name}.yaml`]);
  await node.run("stop");

  // What was tried once is not tried again until a program changes.
  const again = await node.nodelet(["up", "--detach", "--until-ready"]);
  assert.equal(again.code, 0, again.stderr);
  assert.doesNotMatch(again.stderr, /not offered/);
  await node.run("stop");
  await install(node, "crun", `${REFUSES}# another version\n`);
  const changed = await node.nodelet(["up", "--detach", "--until-ready"]);
  assert.match(changed.stderr, /crun is not offered/);
  await node.run("down");
  await node.box.run(["rm", "/usr/local/bin/crun", "/usr/local/bin/youki"]);
  assert.deepEqual(await node.changesSince(before), []);
});

test("--oci-runtime chooses, and refuses what does not run here", async () => {
  await using node = await bareMachine();
  await install(node, "crun", REFUSES);
  const missing = await node.nodelet(["up", "--check", "--oci-runtime=youki"]);
  assert.equal(missing.code, 1);
  assert.match(missing.stdout, /^fail +OCI runtimes +youki is not installed/m);
  const failing = await node.nodelet(["up", "--detach", "--oci-runtime=crun"]);
  assert.equal(failing.code, 1);
  assert.match(
    failing.stderr,
    /the OCI runtime crun cannot run a container here: .*unknown version/,
  );
  const chosen = await node.nodelet(["up", "--detach", "--until-ready", "--oci-runtime=runc"]);
  assert.equal(chosen.code, 0, chosen.stderr);
  assert.match(await configured(node), /default_runtime_name = "runc"/);
  await node.run("down");
});

test("crun, where the machine has it and it runs containers, is the default", {
  skip: findProgram("crun") === undefined ? "needs crun" : false,
}, async () => {
  await using node = await bareMachine();
  await leaveHybrid(node.box);
  const before = await node.picture();
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(await configured(node), /default_runtime_name = "crun"/, up.stderr);
  assert.deepEqual(await classes(node), ["crun", "runc"]);
  assert.match(await node.run("exec", "hello", "--", "id", "-u"), /^1000$/m);
  await node.run("down");
  assert.deepEqual(await node.changesSince(before), [], "crun's cache goes with all else");
});
