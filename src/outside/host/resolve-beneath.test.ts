import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startSwapper, swapObstacle } from "../../../test/support/swapper.ts";
import { isOutside } from "../../kit/errors.ts";
import { holdBeneath } from "./resolve-beneath.ts";

const folder = mkdtempSync(join(tmpdir(), "resolve-beneath-"));
after(() => rmSync(folder, { recursive: true }));

/** A volume with `a/b` and, elsewhere, what must never be reached. */
function volume(name: string): { root: string; outside: string } {
  const root = join(folder, name, "volume");
  const outside = join(folder, name, "outside");
  mkdirSync(join(root, "a/b"), { recursive: true });
  mkdirSync(join(outside, "b"), { recursive: true });
  writeFileSync(join(root, "a/b/f"), "mine");
  writeFileSync(join(outside, "b/f"), "host");
  return { root, outside };
}

const idOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }) => `${dev}:${ino}`;

/** The held file as `dev:ino`, or the code of the error. */
async function held(root: string, path: string, mode?: number): Promise<string> {
  try {
    await using handle = await holdBeneath(root, path, mode);
    return idOf(await handle.stat());
  } catch (error) {
    if (isOutside(error)) return error.code;
    throw error;
  }
}

test("holdBeneath follows links inside, also absolute ones that lead back", async () => {
  const { root } = volume("inside");
  symlinkSync("a", join(root, "relative"));
  symlinkSync(`${root}/relative/b`, join(root, "absolute"));
  symlinkSync(root, join(root, "home"));
  symlinkSync("../a/../a/b/./f", join(root, "a/around"));
  const file = idOf(statSync(join(root, "a/b/f")));
  for (const path of ["a/b/f", "relative/b/f", "absolute/f", "home/absolute/f", "a/around"])
    assert.equal(await held(root, path), file, path);
  assert.equal(await held(root, ""), idOf(statSync(root)));
});

test("holdBeneath makes folders with their mode, whatever the umask", async () => {
  const { root } = volume("make");
  symlinkSync("a", join(root, "relative"));
  assert.equal(await held(root, "relative/new/er", 0o777), idOf(statSync(join(root, "a/new/er"))));
  assert.equal(statSync(join(root, "a/new/er")).mode & 0o7777, 0o777);
});

test("holdBeneath refuses every way out", async () => {
  const { root, outside } = volume("out");
  symlinkSync("/", join(root, "slash"));
  symlinkSync("../..", join(root, "a/up"));
  symlinkSync(outside, join(root, "absolute"));
  symlinkSync(`${root}x`, join(root, "beside"));
  symlinkSync("self", join(root, "self"));
  symlinkSync("/proc/self/root/etc", join(root, "magic"));
  const codes: readonly (readonly [string, string])[] = [
    ["..", "invalid"],
    ["a/../../outside/b/f", "invalid"],
    ["slash/etc/passwd", "invalid"],
    ["a/up/outside/b/f", "invalid"],
    ["absolute/b/f", "invalid"],
    ["beside", "invalid"],
    ["self", "invalid"],
    ["magic/passwd", "invalid"],
    ["a/b/f/g", "precondition"],
    ["a/none", "notFound"],
    ["a\0b", "invalid"],
  ];
  for (const [path, code] of codes) assert.equal(await held(root, path, undefined), code, path);
  // Nothing is made on the way out either.
  assert.equal(await held(root, "absolute/made", 0o755), "invalid");
  assert.throws(() => statSync(join(outside, "made")));
});

test("holdBeneath distinguishes a file on the way from a root that is none", async () => {
  const { root } = volume("files");
  writeFileSync(join(root, "file"), "");
  assert.equal(await held(root, "file/x"), "precondition");
  assert.equal(await held(join(root, "file"), ""), "notFound");
  assert.equal(await held(join(root, "file"), "x"), "notFound");
});

test("holdBeneath goes back by the names it went, and to the root from anywhere", async () => {
  const { root } = volume("back");
  symlinkSync(`${root}/a/b/f`, join(root, "a/b/absolute"));
  const file = idOf(statSync(join(root, "a/b/f")));
  for (const path of ["a/./../a//../a/b/f", "a/b/absolute", "a/b/../b/./absolute"])
    assert.equal(await held(root, path), file, path);
});

test("holdBeneath follows 40 links on one way and no more, as the kernel", async () => {
  const { root } = volume("links");
  for (let i = 1; i <= 41; i += 1)
    symlinkSync(i === 1 ? "a/b/f" : `l${i - 1}`, join(root, `l${i}`));
  assert.equal(await held(root, "l40"), idOf(statSync(join(root, "a/b/f"))));
  assert.equal(await held(root, "l41"), "invalid");
});

test("holdBeneath goes 4,096 names on one way and no more", async () => {
  const { root } = volume("steps");
  const around = "a/../";
  assert.equal(await held(root, `${around.repeat(2_047)}a/b`), idOf(statSync(join(root, "a/b"))));
  assert.equal(await held(root, `${around.repeat(2_048)}a`), "invalid");
});

test("holdBeneath says why a folder cannot be made", async () => {
  assert.equal(await held("/sys/kernel", "none"), "notFound");
  assert.notEqual(await held("/sys/kernel", "none", 0o755), "notFound");
});

const skip = swapObstacle();
const ATTEMPTS = 3_000;

test("holdBeneath never leaves while a folder is exchanged for a link 10,000 times", {
  skip,
}, async () => {
  const { root, outside } = volume("race");
  symlinkSync(outside, join(root, "link"));
  const inside = idOf(statSync(join(root, "a/b/f")));
  const swapper = await startSwapper(join(root, "a"), join(root, "link"));
  const seen = new Map<string, number>();
  try {
    for (let i = 0; i < ATTEMPTS; i += 1) {
      const found = await held(root, "a/b/f");
      seen.set(found, (seen.get(found) ?? 0) + 1);
    }
  } finally {
    assert.ok((await swapper.stop()) >= 10_000);
  }
  assert.ok(
    (seen.get(inside) ?? 0) > 0 && (seen.get("invalid") ?? 0) > 0,
    JSON.stringify([...seen]),
  );
  const others = [...seen.keys()].filter((found) => found !== inside && found !== "invalid");
  assert.deepEqual(others, []);
});
