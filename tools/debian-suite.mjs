// Fetches packages of another Debian suite than the machine's own, without installing them and
// without touching the machine's apt configuration: the source line is derived from the one in use.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where everything slow to get is kept, outside the checkout. */
export const CACHE_DIR = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "nodelet");

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

/** Downloads `packages` of `suite` and unpacks them beneath the cache; returns the folder of each. */
export function fetchPackages(suite, packages, { say = () => {} } = {}) {
  const unpacked = packages.map((name) => join(CACHE_DIR, "packages", suite, name));
  if (unpacked.every((dir) => existsSync(dir))) return unpacked;
  const env = suiteEnvironment(suite);
  say(`reading the package lists of Debian ${suite}`);
  execFileSync("apt-get", ["update", "-qq"], { env, stdio: ["ignore", "ignore", "inherit"] });
  packages.forEach((name, i) => {
    const dir = unpacked[i];
    if (existsSync(dir)) return;
    say(`fetching ${name} of Debian ${suite}`);
    const downloads = join(CACHE_DIR, "downloads", suite, name);
    mkdirSync(downloads, { recursive: true });
    execFileSync("apt-get", ["download", "-qq", name], {
      env,
      cwd: downloads,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const deb = readdirSync(downloads)
      .filter((file) => file.endsWith(".deb"))
      .sort()
      .at(-1);
    mkdirSync(`${dir}.partial`, { recursive: true });
    execFileSync("dpkg", ["-x", join(downloads, deb), `${dir}.partial`], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    execFileSync("mv", [`${dir}.partial`, dir]);
  });
  return unpacked;
}
