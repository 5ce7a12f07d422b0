// The Debian package and the single executable on roots of Debian 12 and 13 that have nothing else: installed, run,
// purged without a trace. Needs debootstrap and lintian, and takes minutes, most of them for compressing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { archiveBase } from "../../tools/debian-suite.mjs";

const ROOT = join(import.meta.dirname, "../..");
const base = mkdtempSync(join(tmpdir(), "debian-"));
const out = join(base, "out");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
};
const debian = `nodelet_${version}_${process.arch === "x64" ? "amd64" : process.arch}.deb`;
const executable = `nodelet-${version}-linux-${process.arch}`;

function build(folder: string): string {
  const argv = [join(ROOT, "tools/package/package.mjs"), "--out", folder, "deb", "executable"];
  execFileSync(process.execPath, argv, {
    env: { ...process.env, SOURCE_DATE_EPOCH: "1700000000" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return readFileSync(join(folder, "SHA256SUMS"), "utf8");
}

before(() => {
  execFileSync(
    "apt-get",
    ["install", "-y", "-q", "--no-install-recommends", "debootstrap", "lintian"],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  build(out);
});
after(() => rmSync(base, { recursive: true, force: true }));

test("two builds are the same bytes", () => {
  assert.equal(build(join(base, "again")), readFileSync(join(out, "SHA256SUMS"), "utf8"));
});

test("lintian finds no error", () => {
  const argv = ["--allow-root", "--fail-on", "error", join(out, debian)];
  execFileSync("lintian", argv, { stdio: ["ignore", "inherit", "inherit"] });
});

/** Everything on the disk of a root but what package tools write about themselves. */
function files(root: string): readonly string[] {
  const skipped = ["proc", "sys", "tmp", "var/cache", "var/log"].map((path) => join(root, path));
  const prunes = skipped.flatMap((path) => ["-path", path, "-o"]).slice(0, -1);
  const argv = [root, "-xdev", "(", ...prunes, ")", "-prune", "-o", "-print"];
  return execFileSync("find", argv, { encoding: "utf8", maxBuffer: 2 ** 26 })
    .split("\n")
    .toSorted();
}

for (const suite of ["bookworm", "trixie"])
  test(`installed, run and purged on ${suite}`, () => {
    const root = join(base, suite);
    // libatomic1 is a dependency of the package, and what the executable needs beside a minimal Debian.
    const packages = "--include=init-system-helpers,libatomic1";
    execFileSync("debootstrap", ["--variant=minbase", packages, suite, root, archiveBase()], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const run = (...argv: string[]): string =>
      execFileSync("chroot", [root, ...argv], {
        encoding: "utf8",
        env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
        stdio: ["ignore", "pipe", "inherit"],
      });
    for (const name of [debian, executable]) copyFileSync(join(out, name), join(root, "tmp", name));
    const expected = new RegExp(`^nodelet ${version},`);
    assert.match(run(`/tmp/${executable}`, "version"), expected);
    const before = files(root);
    run("dpkg", "--install", `/tmp/${debian}`);
    assert.match(run("nodelet", "version"), expected);
    run("test", "-L", "/etc/systemd/system/multi-user.target.wants/nodelet.service");
    run("dpkg", "--purge", "nodelet");
    assert.deepEqual(files(root), before);
  });
