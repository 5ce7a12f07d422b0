// Images in and out of a node: archives of docker and OCI, a registry on loopback, and what `down` keeps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { findStaticBusybox } from "../../src/cli/local-images/busybox.ts";
import { archiveFile, idOf, testImage } from "../box/images.ts";
import { bareMachine, type NodeBox } from "./node-box.ts";

const REGISTRY = "127.0.0.1:5000";
const APP = testImage({ names: ["example/app:1"], files: { "app.txt": { text: "app" } } });
const FULL = "docker.io/example/app:1";

/** `NAME sha256:0123… 1.5 MiB` of the line that says what was done. */
function idIn(text: string, name: string): string {
  const found = text.split("\n").find((line) => line.includes(`: ${name}  sha256:`));
  assert.ok(found, `${name} in ${text}`);
  return /sha256:[0-9a-f]+/.exec(found)?.[0] ?? "";
}

/** An OCI archive whose image has no name, made of one that `images save` wrote. */
function unnamed(archive: string, folder: string): string {
  const files = join(folder, "oci");
  mkdirSync(files);
  execFileSync("tar", ["-xf", archive, "-C", files]);
  const list = join(files, "index.json");
  const index = JSON.parse(readFileSync(list, "utf8"));
  for (const manifest of index.manifests) delete manifest.annotations;
  writeFileSync(list, JSON.stringify(index));
  const made = join(folder, "unnamed.tar");
  execFileSync("tar", ["-cf", made, "-C", files, "oci-layout", "index.json", "blobs"]);
  return made;
}

const GREET = "echo $GREETING $(cat /etc/alias) $(cat /etc/out || echo alone); exec sleep 1000";
const BUILT = "localhost/greeter:1";

/** A root file system with a shell, links within it, and a link that leads out of it. */
function rootFileSystem(folder: string): string {
  const root = join(folder, "rootfs");
  for (const name of ["bin", "etc"]) mkdirSync(join(root, name), { recursive: true });
  copyFileSync(findStaticBusybox() ?? "", join(root, "bin/busybox"));
  chmodSync(join(root, "bin/busybox"), 0o755);
  for (const name of ["sh", "cat", "sleep"]) symlinkSync("busybox", join(root, "bin", name));
  writeFileSync(join(root, "etc/name"), "folder\n");
  symlinkSync("name", join(root, "etc/alias"));
  writeFileSync(join(folder, "outside"), "secret\n");
  symlinkSync(join(folder, "outside"), join(root, "etc/out"));
  return root;
}

/** Builds an image from a folder, twice and by way of an archive: always the same. */
async function buildFromFolder(node: NodeBox): Promise<void> {
  const { folder } = node.box;
  const command = JSON.stringify(["/bin/sh", "-c", GREET]);
  const words = ["images", "build-from", rootFileSystem(folder), "--tag", BUILT];
  const build = [...words, "--entrypoint", command, "--env", "GREETING=hello"];
  const id = idIn(await node.run(...build), BUILT);
  const archive = join(folder, "built.tar");
  assert.equal(idIn(await node.run(...build, "-o", archive), BUILT), id);
  assert.equal(idIn(await node.run("images", "load", "-i", archive), BUILT), id);
  const refused = await node.nodelet(["images", "build-from", archive, "--tag", BUILT]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /built\.tar is not a folder\n.*nodelet images load/);
}

async function startRegistry(node: NodeBox): Promise<void> {
  const program = join(import.meta.dirname, "../images/registry.ts");
  const registry = node.box.spawn([process.execPath, program, "5000"]);
  for await (const line of registry.stdout ? createInterface(registry.stdout) : [])
    if (line === "ready") return;
  throw new Error("the registry does not start");
}

test("images are loaded, saved and pulled, and stay until down is run with --images", async () => {
  await using node = await bareMachine();
  await startRegistry(node);
  const auths = { auths: { [REGISTRY]: { auth: btoa("user:secret") } } };
  node.box.write("/run/tmp/config.json", JSON.stringify(auths));
  const before = await node.picture();
  const early = await node.nodelet(["images", "pull", "example/app:1"]);
  assert.equal(early.code, 4);
  assert.match(
    early.stderr,
    /no container runtime listens at .*\n {2}start the node: sudo nodelet up/,
  );
  await node.run("up", "--detach", "--until-ready");

  // A docker archive, compressed, from standard input and from a file.
  const { folder } = node.box;
  const docker = join(folder, "docker.tar.gz");
  writeFileSync(docker, gzipSync(readFileSync(archiveFile([APP]))));
  const loaded = await node.run("images", "load", "-i", docker);
  const id = idIn(loaded, FULL);
  assert.ok(idOf(APP).startsWith(id), `${id} is ${idOf(APP)}`);
  const piped = await node.box.run(["sh", "-c", `/usr/local/bin/nodelet images load <${docker}`]);
  assert.equal(idIn(piped, FULL), id);

  // What was saved is the same image again.
  const saved = join(folder, "saved.tar");
  await node.run("images", "save", "example/app:1", "-o", saved);
  const crictl = async (...words: string[]) =>
    node.box.run([
      "ctr",
      "-a",
      "/run/nodelet/containerd/containerd.sock",
      "-n",
      "k8s.io",
      ...words,
    ]);
  const digest = /sha256:\S+/.exec(await crictl("images", "list", `name==${FULL}`))?.[0] ?? "";
  await crictl("images", "remove", "--sync", FULL);
  assert.equal(idIn(await node.run("images", "load", "-i", saved), FULL), id);
  assert.match(await crictl("images", "list", `name==${FULL}`), new RegExp(digest));

  // An OCI archive that names nothing.
  const nameless = unnamed(saved, folder);
  const refused = await node.nodelet(["images", "load", "-i", nameless]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /the image in .* has no name\n.*--name/);
  const named = await node.run("images", "load", "-i", nameless, "--name", "example/other:2");
  assert.equal(idIn(named, "docker.io/example/other:2"), id);

  await buildFromFolder(node);

  // From a registry, with progress.
  const pulled = await node.nodelet(["images", "pull", `${REGISTRY}/ok/app:1`]);
  assert.equal(pulled.code, 0, pulled.stderr);
  assert.match(
    pulled.stdout,
    /^Pulled image: 127\.0\.0\.1:5000\/ok\/app:1 {2}sha256:[0-9a-f]{12} {2}\d/,
  );
  const slow = node.startOnTerminal(`nodelet images pull ${REGISTRY}/slow/large:1`);
  await slow.reported(/\[=*>? *\] +\d+% {2}\S+ \S+ of \S+ \w+/);
  assert.equal((await slow.process.exited).code, 0);
  const login = await node.nodelet(["images", "pull", `${REGISTRY}/auth/app:1`]);
  assert.equal(login.code, 1);
  assert.match(login.stderr, /^nodelet: failed to pull image 127\.0\.0\.1:5000\/auth\/app:1: /m);
  const env = { DOCKER_CONFIG: "/run/tmp" };
  const withLogin = await node.nodelet(["images", "pull", `${REGISTRY}/auth/app:1`], env);
  assert.equal(withLogin.code, 0, withLogin.stderr);

  // The images stay, and are there again, for pods too.
  const pod = `{apiVersion: v1, kind: Pod, metadata: {name: greeter}, spec: {hostNetwork: true,
    terminationGracePeriodSeconds: 1, containers: [{name: a, image: "${BUILT}", imagePullPolicy: Never}]}}`;
  node.box.write("/etc/nodelet/manifests/greeter.yaml", pod);
  const down = await node.run("down");
  assert.match(
    down,
    /Kept\n(.*\n)* {2}\/var\/lib\/nodelet\/containerd \(6 images that you loaded or pulled/,
  );
  assert.ok(existsSync(node.box.path("/var/lib/nodelet/containerd")));
  await node.run("up", "--detach", "--until-ready");
  assert.match(await node.run("logs", "greeter"), /^hello folder alone$/m);
  assert.equal(idIn(await node.run("images", "load", "-i", saved), FULL), id);
  assert.match(await node.run("images"), /127\.0\.0\.1:5000\/ok\/app:1/);
  await node.run("down", "--images", "--purge");
  assert.deepEqual(await node.changesSince(before), []);
});

for (const [what, bytes, expected] of [
  ["a text", "no archive at all, only a text. ".repeat(40), /is not an image archive: byte 0/],
  ["nothing", "", /neither index.json \(OCI\) nor manifest.json/],
] as const)
  test(`\`nodelet images load\` of ${what} says what is wrong`, async () => {
    await using node = await bareMachine({ containerd: "machine" });
    node.box.write("/run/tmp/x.tar", bytes);
    const { code, stderr } = await node.nodelet(["images", "load", "-i", "/run/tmp/x.tar"]);
    assert.equal(code, 1);
    assert.match(stderr, expected);
  });
