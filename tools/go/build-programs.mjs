// Builds programs written in Go from their modules, by the ordinary `go build`:
//   node tools/go/build-programs.mjs kube-apiserver etcd
// Prints the paths. Modules and their checksums are pinned in the folders beside this file. What is built once is kept
// in the cache outside the checkout, until module files, flags or Go change.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CACHE_DIR } from "../debian-suite.mjs";
import { withLock } from "../setup/lock.mjs";
import { keepDurations, readDurations, roughly } from "../testing/durations.mjs";
import { builtName, FAMILIES, familyOf, isSuite } from "./families.mjs";
import { goCommand, goObstacle, goVersion, obstacleIn, Unavailable } from "./go-command.mjs";

const HOME = join(CACHE_DIR, "go");
const SAY_EVERY_MS = 60_000;
const KEPT_OUTPUT_CHARACTERS = 20_000;
const SHOWN_OUTPUT_CHARACTERS = 3_000;
/** A line of `go build -v` that says what is compiled; all others are errors. */
const PACKAGE = /^[\w.~+/-]+$/;

/** Path of a program that was built before with the modules, flags and Go of now; undefined when it was not. */
export function builtProgram(name) {
  if (goObstacle() !== undefined) return undefined;
  const path = join(folderOf(familyOf(name)), fileOf(name));
  return existsSync(path) ? path : undefined;
}

/** The version that the module file pins, like `v1.37.2`. */
export function pinnedVersion(name) {
  const family = familyOf(name);
  const { module } = FAMILIES[family];
  const [, version] = new RegExp(`${module} (v\\S+)`).exec(moduleText(family, "go.mod")) ?? [];
  if (version === undefined)
    throw new Error(`tools/go/${family}/go.mod does not require ${module}`);
  return version;
}

/** Where the sources of the module are that gives a program's family its version. */
export function sourceFolder(name) {
  const family = familyOf(name);
  const argv = ["list", "-m", "-f", "{{.Dir}}", FAMILIES[family].module];
  const options = { cwd: join(import.meta.dirname, family), env: environmentOf(family) };
  return execFileSync(goCommand(), argv, { ...options, encoding: "utf8" }).trim();
}

/**
 * Paths of the programs, built now where need be: those of a family together, since most of their packages are the
 * same. Throws `Unavailable` where there is no Go or its registry gives nothing, an `Error` with the compiler's last
 * words when it fails.
 */
export async function buildPrograms(names, { say = () => {} } = {}) {
  const obstacle = goObstacle();
  if (obstacle !== undefined) throw new Unavailable(obstacle);
  const other = "another build of programs in Go";
  // Another build is not waited for when nothing is missing: programs come to their place whole.
  if (names.some((name) => builtProgram(name) === undefined))
    await withLock(
      join(HOME, "build.lock"),
      async () => {
        for (const family of new Set(names.map(familyOf)))
          await buildMissing(
            family,
            names.filter((name) => familyOf(name) === family),
            say,
          );
      },
      { other },
    );
  return names.map((name) => join(folderOf(familyOf(name)), fileOf(name)));
}

/** What the program is called in its folder, which is what it calls itself: `kubelet-1.36` is a `kubelet`. */
function fileOf(name) {
  const { file } = FAMILIES[familyOf(name)];
  return file ?? builtFile(name);
}

function moduleText(family, file) {
  return readFileSync(join(import.meta.dirname, family, file), "utf8");
}

/** Where the family's programs are kept: another folder for other modules, flags or another Go. */
function folderOf(family) {
  const [first = ""] = Object.keys(FAMILIES[family].programs);
  const own = existsSync(join(import.meta.dirname, family, "main.go")) ? ["main.go"] : [];
  const parts = [
    ...["go.mod", "go.sum", ...own].map((file) => moduleText(family, file)),
    flagsOf(family).join(" "),
    goVersion(goCommand()),
    arch(),
  ];
  const digest = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
  return join(HOME, `${family}-${pinnedVersion(first)}-${digest}`);
}

/** The same order for all, or nothing is shared in Go's own cache. */
function flagsOf(family) {
  const { programs, variables = () => [], tags = [] } = FAMILIES[family];
  const [first = ""] = Object.keys(programs);
  const set = variables(pinnedVersion(first)).map(([name, value]) => `-X ${name}=${value}`);
  return [
    "-trimpath",
    "-mod=readonly",
    "-buildvcs=false",
    ...(tags.length > 0 ? [`-tags=${tags.join(",")}`] : []),
    `-ldflags=${["-s -w", ...set].join(" ")}`,
  ];
}

function environmentOf(family) {
  const { HOME: home, XDG_CACHE_HOME: cache, GOCACHE, GOPATH } = process.env;
  return {
    ...process.env,
    GOWORK: "off",
    GO111MODULE: "on",
    CGO_ENABLED: FAMILIES[family].cgo ? "1" : "0",
    // Go has no place for these in an account without a home folder.
    ...(home || cache || GOCACHE ? {} : { GOCACHE: join(HOME, "cache") }),
    ...(home || GOPATH ? {} : { GOPATH: join(HOME, "path") }),
  };
}

async function buildMissing(family, names, say) {
  const missing = names.filter((name) => builtProgram(name) === undefined);
  if (missing.length === 0) return;
  const folder = folderOf(family);
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  for (const each of [partial, folder]) mkdirSync(each, { recursive: true });
  for (const suites of [false, true]) {
    const some = missing.filter((name) => isSuite(name) === suites);
    if (some.length > 0) await build(family, some, { partial, suites, say });
  }
  for (const name of missing)
    renameSync(join(partial, builtFile(name)), join(folder, fileOf(name)));
  rmSync(partial, { recursive: true, force: true });
}

/** What the compiler calls the program. */
function builtFile(name) {
  return `${builtName(FAMILIES[familyOf(name)].programs[name])}${isSuite(name) ? ".test" : ""}`;
}

/** Compiles programs of one family, or suites of tests, into the folder `partial`. */
async function build(family, names, { partial, suites, say }) {
  const began = Date.now();
  const packages = names.map((name) => FAMILIES[family].programs[name]);
  const what = `${names.join(", ")} ${pinnedVersion(names[0])}`;
  const durationName = `go build ${names.toSorted().join(" ")}`;
  say(`fetching the modules of ${what}`);
  const tests = suites ? ["-test"] : [];
  const list = await runGo(family, ["list", "-deps", ...tests, ...flagsOf(family), ...packages]);
  const total = list.split("\n").length - 1;
  const before = readDurations().get(durationName);
  const time = before === undefined ? "" : `, ${roughly(before)} the last time`;
  say(`compiling ${what} of ${total} packages${time}`);
  let count = 0;
  const minutes = () => Math.round((Date.now() - began) / 60_000);
  const alive = setInterval(
    () => say(`${what}: ${count} of at most ${total} packages after ${minutes()} min`),
    SAY_EVERY_MS,
  );
  // With -v a suite that is only compiled would not name packages.
  const command = suites ? ["test", "-c"] : ["build", "-v"];
  const argv = [...command, ...flagsOf(family), "-o", `${partial}/`, ...packages];
  const onPackage = () => {
    count += 1;
  };
  await runGo(family, argv, onPackage).finally(() => clearInterval(alive));
  keepDurations([[durationName, Math.round((Date.now() - began) / 1000)]]);
}

/** Runs `go` where the family's module file is; gives what it has printed. */
async function runGo(family, argv, onPackage = () => {}) {
  const child = spawn(goCommand(), argv, {
    cwd: join(import.meta.dirname, family),
    env: environmentOf(family),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  let reported = "";
  child.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (PACKAGE.test(line)) onPackage();
    else reported = `${reported}${line}\n`.slice(-KEPT_OUTPUT_CHARACTERS);
  });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return printed;
  const obstacle = obstacleIn(reported);
  if (obstacle !== undefined) throw new Unavailable(obstacle);
  const { cgo = [] } = FAMILIES[family];
  const needs = cgo.length > 0 ? ` (it needs ${cgo.join(", ")})` : "";
  throw new Error(
    `go ${argv[0]} of ${family} ended with ${code}${needs}\n${reported.slice(-SHOWN_OUTPUT_CHARACTERS)}`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const say = (text) => process.stderr.write(`build: ${text}\n`);
    for (const path of await buildPrograms(process.argv.slice(2), { say })) console.log(path);
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
