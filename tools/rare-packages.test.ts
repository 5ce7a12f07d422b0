import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build } from "esbuild";
import { rarePackages } from "./rare-packages.mjs";

const work = mkdtempSync(join(tmpdir(), "rare-packages-"));
after(() => rmSync(work, { recursive: true }));

const OPTIONS = { platform: "node", logLevel: "warning" } as const;
const GROUPS = { colour: ["colour", "shade"], frame: ["frame"] };
/** `frame` is in another file than `colour`, of which it asks. */
const PACKAGES = {
  colour: 'globalThis.loaded.push("colour"); exports.name = "red";',
  shade: 'exports.name = "dark " + require("colour").name;',
  frame: 'exports.text = "[" + require("shade").name + "]"; exports.file = __filename;',
};

/** Does something to the files beside it, then loads a package, twice when the first time fails. */
const program = (before: string) => `
  const { readdirSync, renameSync, rmSync, writeFileSync } = require("node:fs");
  globalThis.loaded = [];
  const folder = __dirname + "/packages";
  const files = readdirSync("/proc/self/fd").length;
  ${before}
  const load = () => import("frame").then(({ text, file }) => ({ text, file }), ({ message }) => ({ message }));
  load().then(async (first) => {
    const again = first.message === undefined ? undefined : await load();
    const colour = (await import("colour").catch(() => undefined))?.name;
    const { loaded } = globalThis;
    const opened = readdirSync("/proc/self/fd").length - files;
    console.log(JSON.stringify({ ...first, again: again?.message, colour, loaded, opened }));
  });
`;

const resolveDir = join(work, "source");
for (const [name, text] of Object.entries(PACKAGES)) {
  mkdirSync(join(resolveDir, "node_modules", name), { recursive: true });
  writeFileSync(join(resolveDir, "node_modules", name, "index.js"), text);
}

/** What the program prints, as it is shipped; `without` is a file that is lost on the way. */
async function run(before: string, without?: string): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(work, "dist-"));
  const options = { ...OPTIONS, nodePaths: [join(resolveDir, "node_modules")] };
  const { files, banner, plugin } = await rarePackages(GROUPS, "packages", options);
  mkdirSync(join(folder, "packages"));
  for (const [name, { text }] of Object.entries(files))
    writeFileSync(join(folder, "packages", `${name}.cjs`), text);
  await build({
    ...OPTIONS,
    stdin: { contents: program(before), resolveDir, loader: "js" },
    bundle: true,
    format: "cjs",
    banner: { js: banner },
    plugins: [plugin],
    outfile: join(folder, "program.cjs"),
  });
  assert.deepEqual(readdirSync(join(folder, "packages")), ["colour.cjs", "frame.cjs"]);
  if (without !== undefined) rmSync(join(folder, "packages", without));
  const output = execFileSync(process.execPath, [join(folder, "program.cjs")], {
    encoding: "utf8",
  });
  return JSON.parse(output.replaceAll(folder, "")) as Record<string, unknown>;
}

const LOADED = {
  text: "[dark red]",
  file: "/packages/frame.cjs",
  colour: "red",
  loaded: ["colour"],
  opened: -2,
};

test("rarePackages: a package is loaded once, when it is first asked for, and its file is closed", async () => {
  assert.deepEqual(await run(""), LOADED);
});

test("rarePackages: a process goes on with the files it was started with", async () => {
  const others = 'for (const name of ["colour.cjs", "frame.cjs"])';
  const upgrade = `writeFileSync(folder + "/new", "throw new Error()"); renameSync(folder + "/new", folder + "/" + name)`;
  assert.deepEqual(await run(`${others} { ${upgrade}; }`), LOADED);
  assert.deepEqual(await run("rmSync(folder, { recursive: true });"), LOADED);
});

test("rarePackages: a file of another version is refused each time", async () => {
  const message = "/packages/frame.cjs is not of the version that this process runs";
  const written = await run('writeFileSync(folder + "/frame.cjs", "exports.text = 1");');
  assert.deepEqual(written, {
    message,
    again: message,
    colour: "red",
    loaded: ["colour"],
    opened: -2,
  });
});

test("rarePackages: a process starts without a file, and who needs it gets an error", async () => {
  const { message, colour } = await run("", "frame.cjs");
  assert.match(String(message), /ENOENT.*\/packages\/frame\.cjs/);
  assert.equal(colour, "red");
});
