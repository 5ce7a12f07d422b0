// Programs of the system that nodelet or its tests call, from Debian packages where they are missing.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Interrupted, runQuietly, SetupError, say, seemsOffline, tail } from "./progress.mjs";
import { ROOT } from "./root.mjs";

const PROGRAM_FOLDERS = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
];

const program = (name) => () => PROGRAM_FOLDERS.some((folder) => existsSync(join(folder, name)));
const file =
  (...paths) =>
  () =>
    paths.some((path) => existsSync(path));

/**
 * Each need by what is searched for, because the same program comes from packages of many names; `debian` is
 * what we install where it is missing. `wholeOnly` is what tests need that `npm test` leaves to `--all`.
 */
const NEEDS = [
  { debian: "containerd", profiles: ["run", "test"], met: program("containerd") },
  { debian: "runc", profiles: ["run", "test"], met: program("runc") },
  {
    debian: "containernetworking-plugins",
    profiles: ["run", "test"],
    met: file("/usr/lib/cni/bridge", "/opt/cni/bin/bridge"),
  },
  { debian: "iptables", profiles: ["run", "test"], met: program("iptables") },
  { debian: "iproute2", profiles: ["run", "test"], met: program("ip") },
  { debian: "mount", profiles: ["run", "test"], met: program("mount") },
  {
    debian: "util-linux",
    profiles: ["run", "test"],
    met: () => program("nsenter")() && program("unshare")(),
  },
  {
    debian: "ca-certificates",
    profiles: ["run"],
    met: file("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"),
  },
  {
    debian: "libatomic1",
    profiles: ["run", "test", "build", "check"],
    met: () => hasLibrary("libatomic.so.1"),
  },
  // The image of the example is built from it.
  { debian: "busybox-static", profiles: ["run", "test"], met: program("busybox") },
  { debian: "dbus-daemon", profiles: ["test"], met: program("dbus-daemon") },
  { debian: "systemd", profiles: ["test"], met: program("systemd-inhibit") },
  { debian: "procps", profiles: ["test"], met: program("ps") },
  { debian: "e2fsprogs", profiles: ["test"], met: program("mkfs.ext4") },
  { debian: "openssl", profiles: ["test"], met: program("openssl") },
  { debian: "perl-base", profiles: ["test"], met: program("perl") },
  // What runc is built with, beside Go; see tools/testing/provisions.mjs.
  { debian: "gcc", profiles: ["test"], met: program("gcc"), wholeOnly: true },
  { debian: "libc6-dev", profiles: ["test"], met: file("/usr/include/stdio.h"), wholeOnly: true },
  {
    debian: "libseccomp-dev",
    profiles: ["test"],
    met: file("/usr/include/seccomp.h"),
    wholeOnly: true,
  },
  { debian: "pkg-config", profiles: ["test"], met: program("pkg-config"), wholeOnly: true },
  { debian: "crun", profiles: ["test"], met: program("crun"), wholeOnly: true },
  // What the guest with cgroups of version 2 is made of; see tools/guest/uml.
  ...["flex", "bison", "bc", "make"].map((name) => ({
    debian: name,
    profiles: process.arch === "x64" ? ["test"] : [],
    met: program(name),
    wholeOnly: true,
  })),
  // Of util-linux itself before Debian 14.
  {
    debian: "util-linux-extra",
    profiles: ["test"],
    met: program("pivot_root"),
    wholeOnly: true,
  },
  { debian: "debootstrap", profiles: ["test"], met: program("debootstrap"), wholeOnly: true },
  { debian: "chromium", profiles: ["test"], met: program("chromium"), wholeOnly: true },
  {
    debian: "debian-archive-keyring",
    profiles: ["test"],
    met: file("/usr/share/keyrings/debian-archive-keyring.gpg"),
  },
  {
    debian: "qemu-system-x86",
    profiles: process.arch === "x64" ? ["test"] : [],
    met: program("qemu-system-x86_64"),
    // Only the soak of a machine that boots the package needs it, and says so when it is not there.
    optional: true,
    wholeOnly: true,
  },
];

/**
 * Installs what is missing for the profile. `importance` is `required`, `wanted` or `none`; without `whole` what only a
 * whole run of the tests needs is not asked for.
 */
export async function packagesStep(profile, importance, { whole = true } = {}) {
  const unmet = neededPackages(profile, { whole }).filter((need) => !need.met());
  const missing = unmet.filter((need) => !need.optional);
  if (missing.length > 0) await installMissing(missing, importance);
  for (const need of unmet.filter((one) => one.optional)) await tryInstall(need);
}

/** What the profile needs, there or not. */
export function neededPackages(profile, { whole }) {
  return NEEDS.filter((need) => need.profiles.includes(profile) && (whole || !need.wholeOnly));
}

/** What is good to have: whatever stands in the way is reported and no more. */
async function tryInstall({ debian }) {
  try {
    const obstacle = whyNotInstall();
    if (obstacle) throw new Error(obstacle);
    await install([debian]);
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    say(
      `${debian} is missing (${tail(error.message)}); going on, the test that needs it will fail`,
    );
  }
}

async function installMissing(missing, importance) {
  const names = missing.map((need) => need.debian);
  const obstacle = whyNotInstall();
  if (!obstacle) {
    await install(names);
    const still = missing.filter((need) => !need.met()).map((need) => need.debian);
    if (still.length === 0) return;
    throw new SetupError(
      `apt-get says that ${still.join(", ")} ${still.length === 1 ? "is" : "are"} installed, but the files are not there`,
      `apt-get install --reinstall ${still.join(" ")}`,
    );
  }
  const message = `${names.join(", ")} ${names.length === 1 ? "is" : "are"} missing and ${obstacle}`;
  const fix = `apt-get install --no-install-recommends ${names.join(" ")} (as root), or your distribution's equivalent`;
  if (importance === "required") throw new SetupError(message, fix);
  say(
    `${message}; going on without. ${importance === "wanted" ? "Tests that need them will fail. " : ""}${fix}`,
  );
}

function whyNotInstall() {
  if (!existsSync("/usr/bin/apt-get")) return "this is no Debian-like system";
  if (process.getuid() !== 0) return "only root can install them";
  return undefined;
}

/** How long setup waits for another package tool to finish. */
const LOCK_SECONDS = 600;
const LOCK_RETRY_MS = 2_000;

/**
 * Installs packages, and waits for their lock while another package tool holds it. Throws `SetupError`.
 * `lockSeconds` bounds the wait.
 */
export async function install(names, { lockSeconds = LOCK_SECONDS } = {}) {
  const what = `installing Debian packages: ${names.join(" ")}`;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" };
  // No waiting by apt-get itself: it would be for the lock of dpkg only, and from version 3 on without a word.
  const argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends"];
  const progress = ["-o", "APT::Status-Fd=1"];
  const percent = (line) => {
    const status = /^(dl|pm)status:[^:]*:([\d.]+):/.exec(line);
    // Fetching and installing are half of the way each.
    return status ? (status[1] === "dl" ? 0 : 50) + Number(status[2]) / 2 : undefined;
  };
  const lock = lockWatch(lockSeconds);
  const attempt = () =>
    lock.retrying(() =>
      runQuietly(what, [...argv, ...progress, ...names], {
        env,
        percent,
        onLine: lock.onLine,
        gently: true,
      }),
    );
  const before = names.filter((name) => !isInstalled(name));
  let result = hasPackageLists() ? await attempt() : undefined;
  if (result?.code === 0) return noteInstalled(before);
  const lists = await lock.retrying(() =>
    runQuietly("reading the package lists", ["apt-get", "update", "-q"], {
      env,
      gently: true,
    }),
  );
  result = await attempt();
  if (result.code === 0) return noteInstalled(before);
  const { output } = result;
  if (LOCKED.test(output))
    throw new SetupError(
      `apt-get could not install ${names.join(" ")}: ${lockHolder(output)} still holds the package lock after ${lockSeconds} s`,
      "wait until it has finished (ps -p PID shows it), then try again",
    );
  // Without a network apt-get update only warns.
  const fix = seemsOffline(`${lists.output}\n${output}`)
    ? "apt-get could not reach its archive: check the network and /etc/apt/sources.list"
    : "see apt-get's message above";
  throw new SetupError(`apt-get could not install ${names.join(" ")}:\n${tail(output)}`, fix);
}

const LOCKED = /Could not get lock|Unable to lock|Unable to acquire the dpkg frontend lock/;

/** `process 1234 (apt-get)`: apt-get says who holds the lock, but from its version 3 on not of every lock. */
function lockHolder(text) {
  const named = /held by (process \d+(?: \([^)]*\))?)/.exec(text)?.[1];
  const [path] = /\/var\/[\w./-]*lock[\w-]*/.exec(text) ?? [];
  return named ?? (path && whoHasOpen(path)) ?? "another package tool";
}

function whoHasOpen(path) {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const descriptors = readdirSync(`/proc/${pid}/fd`);
      if (!descriptors.some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path)) continue;
      return `process ${pid} (${readFileSync(`/proc/${pid}/comm`, "utf8").trim()})`;
    } catch (error) {
      if (!["ENOENT", "ESRCH", "EACCES"].includes(error.code)) throw error;
    }
  }
  return undefined;
}

/** Says once that the lock is waited for, and repeats what failed because of it until time is up. */
function lockWatch(lockSeconds) {
  let reported = false;
  const report = (text) => {
    if (reported || !LOCKED.test(text)) return;
    reported = true;
    say(`waiting for the package lock, held by ${lockHolder(text)} (up to ${lockSeconds} s)`);
  };
  // What comes before, e.g. lists from an archive that does not answer, is no waiting for the lock.
  let deadline;
  return {
    onLine: report,
    async retrying(work) {
      for (;;) {
        const result = await work();
        if (result.code === 0 || !LOCKED.test(result.output)) return result;
        deadline ??= Date.now() + lockSeconds * 1000;
        if (Date.now() > deadline) return result;
        report(result.output);
        await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
      }
    },
  };
}

/** Packages that setup installed, for `nodelet down` to name. */
export const INSTALLED_NOTE = join(ROOT, ".cache", "debian-packages");

function noteInstalled(names) {
  if (names.length === 0) return;
  const known = existsSync(INSTALLED_NOTE) ? readFileSync(INSTALLED_NOTE, "utf8").split("\n") : [];
  const all = [...new Set([...known, ...names])].filter((name) => name !== "").sort();
  try {
    mkdirSync(dirname(INSTALLED_NOTE), { recursive: true });
    writeFileSync(INSTALLED_NOTE, `${all.join("\n")}\n`);
  } catch {
    // A checkout that cannot be written to keeps no note; nothing else depends on it.
  }
}

/** A package that was removed, and whose configuration files are still there, is not installed. */
function isInstalled(name) {
  const { stdout } = spawnSync("dpkg", ["--status", name], { encoding: "utf8" });
  return /^Status: .* installed$/m.test(stdout ?? "");
}

function hasPackageLists() {
  const folder = "/var/lib/apt/lists";
  return existsSync(folder) && readdirSync(folder).some((name) => name.includes("_Packages"));
}

function hasLibrary(name) {
  const folders = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];
  for (const triplet of ["x86_64-linux-gnu", "aarch64-linux-gnu"])
    folders.push(`/lib/${triplet}`, `/usr/lib/${triplet}`);
  return folders.some((folder) => existsSync(join(folder, name)));
}
