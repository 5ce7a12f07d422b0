// A kernel that runs as a program of this machine: User-Mode Linux, built from Debian's own source package. Programs in it
// run at the speed of the processor, system calls are ten to twenty times slower.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { CACHE_DIR, fetchPackages, suiteEnvironment, withSuites } from "../../debian-suite.mjs";

/** The suite after Debian 13: its kernel changes to a program's address space by signals, several times faster than ptrace. */
const SUITE = "forky";
const SETTINGS = join(import.meta.dirname, "kernel.config");
const TOOLS = ["flex", "bison", "bc", "gcc", "make"];

/** Why it cannot be built here; undefined when it can, or was. */
export function umlObstacle() {
  if (process.platform !== "linux" || process.arch !== "x64") return "needs Linux on x86-64";
  if (process.getuid() !== 0) return "needs root";
  if (existsSync(kernelPath())) return undefined;
  const missing = TOOLS.filter((name) => !existsSync(join("/usr/bin", name)));
  return missing.length === 0 ? undefined : `needs ${missing.join(", ")} to build the guest kernel`;
}

/** The program's path, named by the digest of what it is built from. */
export function kernelPath() {
  const digest = createHash("sha256").update(SUITE).update(readFileSync(SETTINGS)).digest("hex");
  return join(CACHE_DIR, "guest", `linux-${digest.slice(0, 16)}`);
}

/** The kernel from the cache; builds it there the first time, which takes 5 minutes of two cores. */
export function umlKernel({ say = () => {} } = {}) {
  const path = kernelPath();
  if (existsSync(path)) return path;
  const name = sourcePackage();
  const [unpacked] = fetchPackages(SUITE, [name], { say });
  const work = `${path}.${process.pid}`;
  const build = join(work, "build");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(build, { recursive: true });
  run("tar", ["xf", join(unpacked, "usr/src", `${name}.tar.xz`), "-C", work], work);
  const source = join(work, name);
  const make = (...targets) => run("make", ["-s", "ARCH=um", `O=${build}`, ...targets], source);
  say("building the guest kernel (User-Mode Linux)");
  make("defconfig");
  run(
    join(source, "scripts/kconfig/merge_config.sh"),
    ["-m", "-O", ".", ".config", SETTINGS],
    build,
  );
  make("olddefconfig");
  make(`-j${availableParallelism()}`, "linux");
  const program = join(build, "linux");
  run("strip", [program], work);
  chmodSync(program, 0o755);
  renameSync(program, path);
  rmSync(work, { recursive: true, force: true });
  return path;
}

/** The suite's present kernel, like `linux-source-7.2`. */
function sourcePackage() {
  const text = withSuites(() => {
    const env = suiteEnvironment(SUITE);
    execFileSync("apt-get", ["update", "-qq"], { env, stdio: ["ignore", "ignore", "inherit"] });
    return execFileSync("apt-cache", ["depends", "linux-source"], { env, encoding: "utf8" });
  });
  const name = /Depends: (linux-source-\S+)/.exec(text)?.[1];
  if (!name) throw new Error(`linux-source of Debian ${SUITE} names no kernel`);
  return name;
}

function run(program, argv, cwd) {
  execFileSync(program, argv, { cwd, stdio: ["ignore", "ignore", "pipe"], maxBuffer: 2 ** 26 });
}
