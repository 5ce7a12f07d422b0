// What `npm run package` makes, as users have it: outside the checkout, without its node_modules.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const TIME = "1700000000";
const base = mkdtempSync(join(tmpdir(), "packages-"));
const out = join(base, "out");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
};
const archive = join(out, `nodelet-${version}.tgz`);

function build(folder: string): string {
  execFileSync(
    process.execPath,
    [join(ROOT, "tools/package/package.mjs"), "--out", folder, "npm"],
    { env: { ...process.env, SOURCE_DATE_EPOCH: TIME }, stdio: ["ignore", "ignore", "inherit"] },
  );
  return readFileSync(join(folder, "SHA256SUMS"), "utf8");
}

before(() => {
  execFileSync(process.execPath, [join(ROOT, "tools/build.mjs"), "--types"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  build(out);
});
after(() => rmSync(base, { recursive: true, force: true }));

/** Runs a program in an environment that knows nothing of this checkout. */
function run(program: string, args: readonly string[], cwd = base): string {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: base };
  return execFileSync(program, args, { cwd, env, encoding: "utf8" });
}

/** npm, with the packages it has fetched before. */
function npm(args: readonly string[], cwd = base): string {
  return execFileSync("npm", ["--prefer-offline", "--no-audit", "--no-fund", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test("two builds of one commit are the same bytes", () => {
  const sums = readFileSync(join(out, "SHA256SUMS"), "utf8");
  assert.equal(build(join(base, "again")), sums);
  assert.match(sums, new RegExp(`^[0-9a-f]{64} {2}nodelet-${version}\\.tgz$`, "m"));
  run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], out);
});

test("npm install --global: the command, its manual pages, and no package but Node", () => {
  const prefix = join(base, "global");
  npm(["install", "--global", "--prefix", prefix, archive]);
  assert.match(run(join(prefix, "bin/nodelet"), ["version"]), new RegExp(`^nodelet ${version},`));
  assert.match(run(join(prefix, "bin/nodelet"), ["run", "--version"]), /^Kubernetes v1\.37/);
  assert.deepEqual(readdirSync(join(prefix, "lib/node_modules")), ["nodelet"]);
  const inside = readdirSync(join(prefix, "lib/node_modules/nodelet/node_modules"));
  assert.deepEqual(
    inside.filter((name) => !name.startsWith(".")),
    [`node-linux-${process.arch}`],
  );
  const pages = readdirSync(join(prefix, "share/man/man1"));
  assert.ok(pages.includes("nodelet-why.1"), pages.join(" "));
});

test("the library is imported and type-checked without the packages it is made of", () => {
  const project = join(base, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"name":"user","type":"module"}');
  npm(["install", "--omit=optional", archive], project);
  const program =
    'import { defaultPod, startAgent } from "nodelet";\n' +
    "const start: typeof startAgent = startAgent;\n" +
    'console.log(typeof start, defaultPod({ metadata: { name: "a" }, spec: { containers: [] } }).spec?.restartPolicy);\n';
  writeFileSync(join(project, "user.ts"), program);
  assert.equal(run(process.execPath, ["user.ts"], project), "function Always\n");
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"];
  const types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")];
  run(process.execPath, [tsc, ...options, ...types, "user.ts"], project);
});

test("the bill of materials names the packages inside, with their checksums", () => {
  const bill = JSON.parse(readFileSync(join(out, `nodelet-${version}.cdx.json`), "utf8")) as {
    readonly bomFormat: string;
    readonly components: readonly { readonly name: string; readonly hashes?: unknown }[];
  };
  assert.equal(bill.bomFormat, "CycloneDX");
  const names = bill.components.map(({ name }) => name);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) assert.ok(names.includes(name), name);
  assert.ok(!names.includes("typescript"), "what only builds is not inside");
  for (const { name, hashes } of bill.components) assert.ok(hashes, name);
  const licences = run("tar", ["-xzOf", archive, "package/THIRD-PARTY-LICENSES"]);
  for (const name of names.filter((each) => !each.startsWith("node-linux-"))) {
    const [, text = ""] = licences.split(new RegExp(`^${name} \\S+: `, "m"));
    assert.match(text.split(/^-{80}$/m)[0] ?? "", /copyright|licen[cs]e/i, name);
  }
});
