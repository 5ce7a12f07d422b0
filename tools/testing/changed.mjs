// What a change touches: the files that differ from the main branch, and the tests that are close to them.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { LONG_TESTS, ROOT } from "./files.mjs";

/** Branches that a change is compared with, the first that is there; without any, the last commit. */
const BASES = ["main", "origin/main"];

/** Files that differ from where the branch began, those not committed too, as paths below the checkout. */
export function changedFiles() {
  const base = BASES.map((name) => git("merge-base", "HEAD", name)).find(Boolean)?.[0] ?? "HEAD";
  const changed = git("diff", "--name-only", base) ?? [];
  const added = git("ls-files", "--others", "--exclude-standard") ?? [];
  return [...new Set([...changed, ...added])].filter((path) => existsSync(join(ROOT, path)));
}

/** Lines of git's answer; undefined when it fails. */
function git(...args) {
  try {
    const options = { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync("git", args, options)
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return undefined;
  }
}

/**
 * Tests that changed, that import a file that changed, or that import a file beside it that does (the entry of its
 * module mostly), also through what tests share. Tests that reach it from further away are left to the whole run.
 */
export function closeTests(changed, tests, imports) {
  const direct = new Set(changed);
  const beside = new Set(direct);
  for (const [path, targets] of imports)
    if (targets.some((to) => direct.has(to) && dirname(to) === dirname(path))) beside.add(path);
  return tests.filter((test) => [...reachOf(test, imports)].some((path) => beside.has(path)));
}

/** A test, what it imports, and what the files of `test/` import that it uses: they are part of it. */
function reachOf(test, imports) {
  const reached = new Set([test]);
  for (const path of reached)
    if (path === test || path.startsWith("test/"))
      for (const to of imports.get(path) ?? []) reached.add(to);
  return reached;
}

/** Tests with a process of their own that a change runs at most: half a second of processor time each. */
const MAX_OWN_PROCESSES = 4;
/** Tests that share processes: a tenth of a second each. */
const MAX_SHARING = 30;

/**
 * The tests of a change that can be afforded: those that changed, and of the others, but for the long ones, those that
 * are nearest to a changed file by folder, more of those that share a process (`shares`). `left` is how many are left
 * to the whole run.
 */
export function affordableTests(changed, tests, shares) {
  const nearness = (test) => Math.max(...changed.map((path) => commonFolders(path, test)));
  const others = tests
    .filter((test) => !changed.includes(test))
    .map((test) => ({ test, shares: shares(test), near: nearness(test) }))
    .toSorted((a, b) => b.near - a.near);
  const [short, long] = [false, true].map((isLong) =>
    others.filter(({ test }) => LONG_TESTS.includes(test) === isLong),
  );
  const left = [
    ...long,
    ...short.filter((each) => each.shares).slice(MAX_SHARING),
    ...short.filter((each) => !each.shares).slice(MAX_OWN_PROCESSES),
  ].map(({ test }) => test);
  return { run: tests.filter((test) => !left.includes(test)), left: left.length };
}

/** How many leading folders two paths share. */
function commonFolders(a, b) {
  const [left, right] = [dirname(a).split("/"), dirname(b).split("/")];
  const end = left.findIndex((name, index) => name !== right[index]);
  return end < 0 ? left.length : end;
}
