// Fetches packages of another Debian suite than the machine's own, without installing them and
// without touching the machine's apt configuration: the source line is derived from the one in use.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { cacheDir } from "./cache-dir.mjs";
import { withLockSync } from "./setup/lock.mjs";

/** Where everything slow to get is kept, outside the checkout. */
export const CACHE_DIR = cacheDir();

const QUIET = ["ignore", "ignore", "inherit"];

/** The base address of the Debian archive this machine installs from. */
export function archiveBase() {
  const places = ["/etc/apt/sources.list"];
  if (existsSync("/etc/apt/sources.list.d")) {
    for (const name of readdirSync("/etc/apt/sources.list.d").sort())
      places.push(join("/etc/apt/sources.list.d", name));
  }
  for (const place of places) {
    if (!/\.(list|sources)$/.test(place) || !existsSync(place)) continue;
    const text = readFileSync(place, "utf8");
    const match =
      /^URIs:\s*(\S+\/debian\/?)\s*$/m.exec(text) ??
      /^deb\s+(?:\[[^\]]*\]\s+)?(\S+\/debian\/?)\s/m.exec(text);
    if (match) return match[1].replace(/\/$/, "");
  }
  throw new Error("no Debian archive found in /etc/apt/sources.list or /etc/apt/sources.list.d");
}

/** An apt environment of its own for `suite`; returns the variables to run apt-get with. */
export function suiteEnvironment(suite, { sources = false } = {}) {
  const dir = join(CACHE_DIR, `apt-${suite}`);
  for (const sub of ["lists/partial", "cache/archives/partial"])
    mkdirSync(join(dir, sub), { recursive: true });
  const line = `[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archiveBase()} ${suite} main\n`;
  writeFileSync(join(dir, "sources.list"), `deb ${line}${sources ? `deb-src ${line}` : ""}`);
  writeFileSync(join(dir, "status"), "");
  const conf = join(dir, "apt.conf");
  writeFileSync(
    conf,
    `Dir::State::lists "${dir}/lists";\nDir::State::status "${dir}/status";\nDir::Cache "${dir}/cache";\n` +
      `Dir::Etc::sourcelist "${dir}/sources.list";\nDir::Etc::sourceparts "-";\nAPT::Sandbox::User "root";\n`,
  );
  return { ...process.env, APT_CONFIG: conf };
}

/** Runs `work` while nobody else uses apt-get in the cache, which would refuse the second one. */
export function withSuites(work) {
  const other = "another download into the cache of the tests";
  return withLockSync(join(CACHE_DIR, "packages.lock"), work, { other });
}

/** Downloads `packages` of `suite` and unpacks them beneath the cache; returns the folder of each. */
export function fetchPackages(suite, packages, { say = () => {} } = {}) {
  const unpacked = packages.map((name) => join(CACHE_DIR, "packages", suite, name));
  const isComplete = () => unpacked.every((dir) => existsSync(dir));
  if (isComplete()) return unpacked;
  withSuites(() => {
    if (isComplete()) return;
    const env = suiteEnvironment(suite);
    say(`reading the package lists of Debian ${suite}`);
    execFileSync("apt-get", ["update", "-qq"], { env, stdio: QUIET });
    packages.forEach((name, i) => {
      if (!existsSync(unpacked[i])) fetchPackage({ suite, name, folder: unpacked[i], env }, say);
    });
  });
  return unpacked;
}

/** The folder appears when all is in it: who is interrupted leaves only what the next one removes. */
function fetchPackage({ suite, name, folder, env }, say) {
  say(`fetching ${name} of Debian ${suite}`);
  const downloads = join(CACHE_DIR, "downloads", suite, name);
  const partial = `${folder}.partial`;
  for (const path of [downloads, partial]) {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
  }
  execFileSync("apt-get", ["download", "-qq", name], { env, cwd: downloads, stdio: QUIET });
  const deb = readdirSync(downloads).find((file) => file.endsWith(".deb"));
  if (!deb) throw new Error(`apt-get downloaded no ${name} of Debian ${suite}`);
  execFileSync("dpkg", ["-x", join(downloads, deb), partial], { stdio: QUIET });
  renameSync(partial, folder);
  rmSync(downloads, { recursive: true, force: true });
}
