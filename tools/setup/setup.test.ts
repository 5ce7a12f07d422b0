// The setup script, run as its users run it. Only what needs no network and changes nothing.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { neededPackages } from "./packages-step.mjs";

const ROOT = join(import.meta.dirname, "../..");

function setup(...args: readonly string[]): ChildProcess & { stdout: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, [join(ROOT, "tools/setup.mjs"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  return child;
}

async function ended(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }> {
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return await new Promise((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal, stderr })),
  );
}

test("a program gets its arguments as they are, without a shell, and gives its exit code", async () => {
  const child = setup(
    "check",
    "--",
    "sh",
    "-c",
    'printf "%s|" "$@"; exit 9',
    "sh",
    "a b",
    "$HOME",
    "",
  );
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const { code } = await ended(child);
  assert.equal(output, "a b|$HOME||");
  assert.equal(code, 9);
});

test("scripts run with the Node that package.json pins", async () => {
  const child = setup("check", "--", join(import.meta.dirname, "testdata/print-node.mjs"));
  const first = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };
  assert.equal(first.value, `v${manifest.optionalDependencies[`node-linux-${process.arch}`]}`);
});

test("a signal to setup reaches the program, which may end in its own way", async () => {
  const child = setup(
    "check",
    "--",
    "sh",
    "-c",
    "trap 'exit 5' TERM; echo up; for _ in $(seq 300); do sleep 0.1; done",
  );
  await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  child.kill("SIGTERM");
  const { code, signal } = await ended(child);
  assert.deepEqual({ code, signal }, { code: 5, signal: null });
});

test("setup ends by the signal that ended the program", async () => {
  const { signal } = await ended(setup("check", "--", "sh", "-c", "kill -KILL $$"));
  assert.equal(signal, "SIGKILL");
});

test("wrong use is refused with the right one", async () => {
  for (const args of [[], ["other"], ["check", "program"], ["check", "--"]]) {
    const { code, stderr } = await ended(setup(...args));
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, /^setup: usage: node tools\/setup\.mjs run\|build\|check\|test/);
  }
});

test("a program that does not exist is named", async () => {
  const { code, stderr } = await ended(setup("check", "--", "bin/nothing"));
  assert.equal(code, 1);
  assert.match(stderr, /cannot start .*bin\/nothing: .*ENOENT/);
});

test("the lock file names all optional packages, without which `npm ci` refuses it", () => {
  interface Locked {
    readonly version: string;
    readonly optionalDependencies?: Readonly<Record<string, string>>;
  }
  const text = readFileSync(join(ROOT, "package-lock.json"), "utf8");
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Locked>> };
  const missing = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter((name) => !(`node_modules/${name}` in packages)),
  );
  assert.deepEqual(missing, []);
});

test("the tests of a newcomer ask for no browser, no emulator and no build tools; a whole run does", () => {
  const names = (whole: boolean) => neededPackages("test", { whole }).map(({ debian }) => debian);
  const ofGuest = process.arch === "x64" ? ["bc", "bison", "flex", "make"] : [];
  const more = [
    ...ofGuest,
    "chromium",
    "crun",
    "debootstrap",
    "gcc",
    "libc6-dev",
    "libseccomp-dev",
    "pkg-config",
    ...(process.arch === "x64" ? ["qemu-system-x86"] : []),
    "util-linux-extra",
  ].sort();
  assert.deepEqual(
    names(true)
      .filter((name) => !names(false).includes(name))
      .sort(),
    more,
  );
  assert.ok(names(false).includes("containerd"));
});
