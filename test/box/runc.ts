/**
 * runc of a box: the machine's own, today's, built from its module, or one of another Debian suite. That one needs a
 * newer C library than the machine has, so its copy in the cache is pointed at the one of its own suite.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, realpathSync, renameSync } from "node:fs";
import { join } from "node:path";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";
import { builtProgram } from "../../tools/go/build-programs.mjs";
import { findProgram } from "./prerequisites.ts";

/** Which runc, or crun in its place; from 1.3 on it knows id-mapped mounts and what it can do for user namespaces. */
export type RuncVersion = "machine" | "crun" | "1.3" | "1.5";

/** In what a runc of 1.3 or newer prints. */
const KNOWS_USER_NAMESPACES = /^runc version 1\.(?:[3-9]|\d\d)\./m;
const SUITE = "sid";
const LIBRARIES = "usr/lib/x86_64-linux-gnu";

/** Path of the program; throws when it cannot be had here. */
export function runcProgram(version: RuncVersion): string {
  if (version === "machine") return findProgram("runc") ?? "runc";
  if (version === "crun") return findProgram("crun") ?? "crun";
  if (version === "1.5") {
    const built = builtProgram("runc");
    if (built === undefined)
      throw new Error("there is no runc 1.5 yet: node tools/go/build-programs.mjs runc");
    return built;
  }
  const own = findProgram("runc");
  if (
    own !== undefined &&
    KNOWS_USER_NAMESPACES.test(execFileSync(own, ["--version"], { encoding: "utf8" }))
  )
    return own;
  const program = join(CACHE_DIR, "patched", `runc-${version}`);
  if (existsSync(program)) return program;
  const say = (text: string) => process.stderr.write(`test box: ${text}\n`);
  const [runc = "", libc = "", seccomp = ""] = fetchPackages(
    SUITE,
    ["runc", "libc6", "libseccomp2"],
    { say },
  );
  const [patchelf = ""] = fetchPackages("bookworm", ["patchelf"], { say });
  const partial = `${program}.${process.pid}`;
  mkdirSync(join(CACHE_DIR, "patched"), { recursive: true });
  copyFileSync(realpathSync(join(runc, "usr/bin/runc")), partial);
  const folders = [libc, seccomp].map((folder) => join(folder, LIBRARIES));
  execFileSync(join(patchelf, "usr/bin/patchelf"), [
    "--set-interpreter",
    realpathSync(join(libc, LIBRARIES, "ld-linux-x86-64.so.2")),
    "--set-rpath",
    folders.join(":"),
    partial,
  ]);
  renameSync(partial, program);
  return program;
}
