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
import { CACHE_DIR, fetchPackages, suiteEnvironment, withSuites } from "../debian-suite.mjs";
import { withLock } from "../setup/lock.mjs";

/** The Debian suite whose archive has the sources, and what they are. */
const SUITE = "bookworm";
export const VERSION = "1.20.2";
const GO = "go-1.19";
const HOME = join(CACHE_DIR, `kubernetes-${VERSION}`);
const SAY_EVERY_MS = 60_000;
const NEEDED = ["make", "bash", "dpkg-source", "tar", "find"];

/** Path of a program that was built before; undefined when it was not. */
export function builtProgram(name) {
  const path = join(HOME, name);
  return existsSync(path) ? path : undefined;
}

/** Path of the program, built now if need be. Throws with the end of the compiler's output. */
export async function buildProgram(name, options = {}) {
  const [path] = await buildPrograms([name], options);
  return path;
}

/** Paths of the programs; those that are missing are built in one go, because most of their packages are the same. */
export async function buildPrograms(names, { say = () => {} } = {}) {
  for (const name of names)
    if (!/^kube[a-z-]+$/.test(name)) throw new Error(`${name} is no program of Kubernetes`);
  const other = `another build of kubernetes ${VERSION}`;
  return await withLock(join(CACHE_DIR, "kubernetes.lock"), () => buildMissing(names, say), {
    other,
  });
}

async function buildMissing(names, say) {
  const missing = names.filter((name) => builtProgram(name) === undefined);
  if (missing.length > 0) {
    const absent = NEEDED.filter((program) => !onPath(program));
    if (absent.length > 0)
      throw new Error(
        `building ${missing.join(", ")} needs ${absent.join(", ")} (Debian: make, dpkg-dev)`,
      );
    const work = join(CACHE_DIR, `kubernetes-${VERSION}.building`);
    removeWork(work);
    mkdirSync(work, { recursive: true });
    try {
      const goRoot = compiler(work, say);
      const sources = unpackSources(work, say);
      const folder = await compile({ names: missing, work, goRoot, sources }, say);
      mkdirSync(HOME, { recursive: true });
      for (const name of missing) keepProgram(join(folder, name), join(HOME, name));
    } finally {
      removeWork(work);
    }
  }
  return names.map((name) => join(HOME, name));
}

function keepProgram(built, path) {
  copyFileSync(built, `${path}.partial`);
  chmodSync(`${path}.partial`, 0o755);
  renameSync(`${path}.partial`, path);
}

/** A compiler that was interrupted may still write for a moment. */
function removeWork(work) {
  rmSync(work, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
}

/** The compiler's two packages expect to be unpacked over each other. */
function compiler(work, say) {
  const packages = [`golang-${GO.slice(3)}-go`, `golang-${GO.slice(3)}-src`];
  for (const folder of fetchPackages(SUITE, packages, { say }))
    execFileSync("cp", ["-al", join(folder, "usr"), work]);
  return join(work, "usr", "lib", GO);
}

/** Fetches and unpacks where a Go of that age searches for packages. */
function unpackSources(work, say) {
  say(`fetching the sources of kubernetes ${VERSION}`);
  const stdio = ["ignore", "ignore", "inherit"];
  withSuites(() => {
    const env = suiteEnvironment(SUITE, { sources: true });
    execFileSync("apt-get", ["update", "-qq"], { env, stdio });
    const argv = ["source", "-qq", "--download-only", "kubernetes"];
    execFileSync("apt-get", argv, { env, cwd: work, stdio });
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

async function compile({ names, work, goRoot, sources }, say) {
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
    GOENV: "off",
    GOFLAGS: "",
    GOPROXY: "off",
    CGO_ENABLED: "0",
    KUBE_GIT_VERSION_FILE: versionFile,
  };
  say(`compiling ${names.join(", ")} ${VERSION}; this takes some 10 minutes on two idle cores`);
  const what = names.map((name) => `cmd/${name}`).join(" ");
  await run(["nice", "-n", "10", "make", "all", `WHAT=${what}`], { cwd: sources, env }, say);
  return join(sources, "_output", "bin");
}

/** What the build would ask git for. */
function versionVariables() {
  const [major, minor] = VERSION.split(".");
  return (
    `KUBE_GIT_COMMIT=unknown\nKUBE_GIT_TREE_STATE=archive\nKUBE_GIT_VERSION=v${VERSION}\n` +
    `KUBE_GIT_MAJOR=${major}\nKUBE_GIT_MINOR=${minor}\n`
  );
}

/** Runs a long command; says its milestones, that it goes on, and its last lines when it fails. */
async function run(argv, options, say) {
  let output = "";
  const started = Date.now();
  const alive = setInterval(
    () => say(`still compiling after ${Math.round((Date.now() - started) / 60_000)} min`),
    SAY_EVERY_MS,
  );
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
  }).finally(() => clearInterval(alive));
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
