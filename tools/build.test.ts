// What stands in the files that are shipped.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build, type Metafile } from "esbuild";
import { programFiles } from "./build.mjs";
import { isRarePackage } from "./rare-packages.mjs";

const { programs, packages } = await programFiles();

/** What a program is made of, and what of that it contains. */
async function contentsOf(
  name: string,
): Promise<{ all: Metafile["inputs"]; inside: readonly string[]; bytes: number }> {
  const { metafile } = await build({ ...programs[name], write: false, sourcemap: false });
  const [output] = Object.values(metafile?.outputs ?? {});
  assert.ok(metafile && output);
  const inside = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { all: metafile.inputs, inside: inside.map(([path]) => path), bytes: output.bytes };
}

/** Names of the packages that files belong to. */
function packagesOf(paths: readonly string[]): readonly string[] {
  const names = paths.flatMap(
    (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  return [...new Set(names)].toSorted();
}

/** Files that are loaded when the entry is. */
function loadedWith(entry: string, all: Metafile["inputs"]): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const path of loaded)
    for (const { path: to, kind } of all[path]?.imports ?? [])
      if (kind !== "dynamic-import") loaded.add(to);
  return loaded;
}

const agent = await contentsOf("agent.cjs");

test("the agent's program holds nothing that only other commands need", () => {
  assert.ok(agent.inside.includes("src/process/run.ts"));
  const commands = /^src\/(?:cli\/(?!runtime-versions\/)[^/]+\/|cli\/cli\.ts|page\/)/;
  assert.deepEqual(
    agent.inside.filter((path) => commands.test(path)),
    [],
  );
});

test("the agent's program holds only packages that every agent needs", () => {
  assert.deepEqual(packagesOf(agent.inside), [
    "@bufbuild/protobuf",
    "@pinojs/redact",
    "atomic-sleep",
    "js-yaml",
    "lru-cache",
    "on-exit-leak-free",
    "pino",
    "pino-std-serializers",
    "quick-format-unescaped",
    "safe-stable-stringify",
    "sonic-boom",
    "thread-stream",
  ]);
  // Of these about 110 kB are CSI, half of it the messages of its interface, with the cloud disks that its drivers have
  // taken over; about 55 kB are resource claims, and 30 kB their objects and their allocation in the local API;
  // 15 kB are CPUs and memory of pods as a whole, with their metrics.
  assert.ok(agent.bytes < 3.06e6, `${agent.bytes} bytes stay in the memory of every agent`);
});

test("the agent's program loads no module of Node that most agents never use", async () => {
  const work = mkdtempSync(join(tmpdir(), "build-"));
  after(() => rmSync(work, { recursive: true }));
  const outfile = join(work, "agent.cjs");
  await build({ ...programs["agent.cjs"], outfile, sourcemap: false });
  const script = `require(${JSON.stringify(outfile)}); console.log(JSON.stringify(process.moduleLoadList));`;
  const output = execFileSync(process.execPath, ["--eval", script], { encoding: "utf8" });
  const loaded = JSON.parse(output) as readonly string[];
  assert.ok(loaded.includes("NativeModule tls"), "modules are listed");
  for (const name of ["http2", "inspector", "sqlite", "zlib"])
    assert.ok(!loaded.includes(`NativeModule ${name}`), name);
});

test("no package of dist/packages is loaded when a program is", async () => {
  for (const [name, entry] of Object.entries({
    agent: "src/process/run.ts",
    cli: "src/cli/cli.ts",
  })) {
    const { all } = name === "agent" ? agent : await contentsOf(`${name}.cjs`);
    const rare = Object.keys(all).filter(isRarePackage);
    assert.ok(rare.length >= Object.keys(packages).length, rare.join(" "));
    const loaded = loadedWith(entry, all);
    assert.ok(loaded.size > 300, "imports are followed");
    assert.deepEqual(
      rare.filter((path) => loaded.has(path)),
      [],
      name,
    );
  }
});

test("the program that a process begins with holds neither the agent nor the commands", async () => {
  const { inside, bytes } = await contentsOf("nodelet.cjs");
  assert.deepEqual(inside.toSorted(), [
    "program:agent",
    "program:cli",
    "src/main.ts",
    "src/outside/c-library.ts",
    "src/outside/memory/memory.ts",
    "src/outside/memory/program-pages.ts",
    "src/outside/memory/unused-memory.ts",
    "src/process/single-executable.ts",
    "tools/code-cache/load-program.mjs",
    "tools/code-cache/program-text.mjs",
  ]);
  assert.ok(bytes < 8 * 1024, `${bytes} bytes`);
});
