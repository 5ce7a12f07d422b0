// Builds programs of Kubernetes, written in Go, from Debian's own source package with Debian's own compiler:
//   node tools/bench/build-go-kubelet.mjs [kubelet|kube-apiserver|…]
// Prints the path of the program. Nothing is installed; all of it lives in the cache outside the checkout, and
// what is built once stays. Takes some 10 minutes on two cores and 3 GiB of disk while it runs.
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CACHE_DIR, fetchPackages, suiteEnvironment } from "../debian-suite.mjs";
import { withLock } from "../setup/lock.mjs";

/** The Debian suite whose archive has the sources, and what they are. */
const SUITE = "bookworm";
export const VERSION = "1.20.2";
const GO = "go-1.19";
const HOME = join(CACHE_DIR, `kubernetes-${VERSION}`);
const NEEDED = ["make", "bash", "dpkg-source", "tar", "find"];

/** Path of a program that was built before; undefined when it was not. */
export function builtProgram(name) {
  const path = join(HOME, name);
  return existsSync(path) ? path : undefined;
}

/** Path of the program, built now if need be. Throws with the end of the compiler's output. */
export async function buildProgram(name, { say = () => {} } = {}) {
  if (!/^kube[a-z-]+$/.test(name)) throw new Error(`${name} is no program of Kubernetes`);
  return await withLock(join(CACHE_DIR, "kubernetes.lock"), async () => {
    const known = builtProgram(name);
    if (known) return known;
    const missing = NEEDED.filter((program) => !onPath(program));
    if (missing.length > 0)
      throw new Error(`building ${name} needs ${missing.join(", ")} (Debian: make, dpkg-dev)`);
    const work = join(CACHE_DIR, `kubernetes-${VERSION}.building`);
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    try {
      const goRoot = compiler(work, say);
      const sources = unpackSources(work, say);
      const built = await compile({ name, work, goRoot, sources }, say);
      mkdirSync(HOME, { recursive: true });
      const path = join(HOME, name);
      copyFileSync(built, `${path}.partial`);
      chmodSync(`${path}.partial`, 0o755);
      renameSync(`${path}.partial`, path);
      return path;
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
}

/** The compiler's two packages expect to be unpacked over each other. */
function compiler(work, say) {
  const packages = [`golang-${GO.slice(3)}-go`, `golang-${GO.slice(3)}-src`];
  for (const folder of fetchPackages(SUITE, packages, { say }))
    execFileSync("cp", ["-al", join(folder, "usr"), work]);
  return join(work, "usr", "lib", GO);
}

/** Fetches and unpacks where a Go of that age looks for packages. */
function unpackSources(work, say) {
  say(`fetching the sources of kubernetes ${VERSION}`);
  const env = suiteEnvironment(SUITE, { sources: true });
  const stdio = ["ignore", "ignore", "inherit"];
  execFileSync("apt-get", ["update", "-qq"], { env, stdio });
  execFileSync("apt-get", ["source", "-qq", "--download-only", "kubernetes"], {
    env,
    cwd: work,
    stdio,
  });
  const description = readdirSync(work).find((name) => name.endsWith(".dsc"));
  if (!description?.includes(VERSION))
    throw new Error(`Debian ${SUITE} has no kubernetes ${VERSION} but ${description}`);
  const sources = join(work, "gopath", "src", "k8s.io", "kubernetes");
  mkdirSync(join(sources, ".."), { recursive: true });
  execFileSync("dpkg-source", ["-q", "--no-check", "-x", description, sources], {
    cwd: work,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return sources;
}

async function compile({ name, work, goRoot, sources }, say) {
  const tools = join(work, "tools");
  mkdirSync(tools);
  symlinkSync(join(goRoot, "bin", "go"), join(tools, "go"));
  symlinkSync(join(goRoot, "bin", "gofmt"), join(tools, "gofmt"));
  // The build only asks for `rsync -pc FILE FOLDER`.
  writeFileSync(join(tools, "rsync"), '#!/bin/sh\nshift\nexec cp -p "$@"\n', { mode: 0o755 });
  const versionFile = join(work, "version");
  writeFileSync(versionFile, versionVariables());
  const env = {
    PATH: `${tools}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: work,
    LANG: "C.UTF-8",
    GOROOT: goRoot,
    GOPATH: join(work, "gopath"),
    GOCACHE: join(work, "gocache"),
    GOPROXY: "off",
    CGO_ENABLED: "0",
    KUBE_GIT_VERSION_FILE: versionFile,
  };
  say(`compiling ${name} ${VERSION}; this takes some 10 minutes`);
  await run(["nice", "-n", "19", "make", "all", `WHAT=cmd/${name}`], { cwd: sources, env }, say);
  return join(sources, "_output", "bin", name);
}

/** What the build would ask git for. */
function versionVariables() {
  const [major, minor] = VERSION.split(".");
  return (
    `KUBE_GIT_COMMIT=unknown\nKUBE_GIT_TREE_STATE=archive\nKUBE_GIT_VERSION=v${VERSION}\n` +
    `KUBE_GIT_MAJOR=${major}\nKUBE_GIT_MINOR=${minor}\n`
  );
}

/** Runs a long command; says its milestones, and its last lines when it fails. */
async function run(argv, options, say) {
  let output = "";
  const code = await new Promise((resolve, reject) => {
    const child = spawn(argv[0], argv.slice(1), { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const read = (chunk) => {
      output = (output + chunk).slice(-20_000);
      for (const line of `${chunk}`.split("\n")) if (line.startsWith("+++")) say(line.slice(4));
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}\n${output.slice(-3_000)}`);
}

function onPath(program) {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .some((folder) => existsSync(join(folder, program)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const say = (text) => process.stderr.write(`build: ${text}\n`);
    console.log(await buildProgram(process.argv[2] ?? "kubelet", { say }));
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
