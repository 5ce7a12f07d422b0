/** Runs tests against a changed source file, which stays as it is on disk. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CACHE_DIR } from "../debian-suite.mjs";

/** What the tests made of it. */
export type Outcome =
  /** By a test, or because the file could not even be loaded, or because a test did not end. */
  { readonly kind: "killed"; readonly by: string } | { readonly kind: "survived" };

/** The checkout. */
export const ROOT = join(import.meta.dirname, "../..");

/** A mutant that makes a test wait for ever is found, too. */
const LIMIT_MS = 60_000;
const KEPT_CHARACTERS = 4_000;
const PRELOAD = pathToFileURL(join(ROOT, "tools/mutants/load-mutant.mjs")).href;

/**
 * Runs the test files with `file` replaced by `text`, until one fails; all paths are relative to the checkout.
 * Without `changed` they run as they are: then everything must pass.
 */
export async function runMutant(
  tests: readonly string[],
  changed: { readonly file: string; readonly text: string } | undefined,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-mutant-"));
  try {
    const text = join(folder, "changed.ts");
    if (changed) writeFileSync(text, changed.text);
    const url = changed && pathToFileURL(join(ROOT, changed.file)).href;
    return await run(tests, JSON.stringify({ url, text }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(tests: readonly string[], mutant: string): Promise<Outcome> {
  const child = spawn(
    process.execPath,
    [
      `--test-reporter=${join(ROOT, "tools/mutants/first-failure.cjs")}`,
      "--test-reporter-destination=stdout",
      join(ROOT, "tools/mutants/play-tests.mjs"),
      ...tests.map((path) => join(ROOT, path)),
    ],
    {
      cwd: ROOT,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        NODE_COMPILE_CACHE: join(CACHE_DIR, "compiled"),
        NODE_OPTIONS: `--import=${PRELOAD}`,
        NODELET_MUTANT: mutant,
      },
    },
  );
  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-KEPT_CHARACTERS);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    endGroup(child.pid);
  }, LIMIT_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  clearTimeout(timer);
  endGroup(child.pid);
  if (late) return { kind: "killed", by: `no end within ${LIMIT_MS / 1000} s` };
  if (code === 0) return { kind: "survived" };
  const [, failed] = /^failed: (.*)$/m.exec(output) ?? [];
  return { kind: "killed", by: failed ?? lastLine(output) };
}

const lastLine = (output: string) =>
  output.split("\n").findLast((line) => /error/i.test(line)) ?? output.trim();

/** What a test of a mutant started goes with it. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
