// The simulation must bite: with one guard taken out of the agent it has to find a failing history.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");

/** Seeds tried before a guard counts as not guarded. */
const SEEDS = 300;

/** A line of the agent that something depends on. */
export interface Guard {
  readonly name: string;
  readonly file: string;
  readonly line: string;
  readonly without: string;
  /** The first seed; default 1. */
  readonly first?: number;
  /** What plays the histories; default those of a node without a cluster. */
  readonly play?: string;
}

/** One test for each guard. */
export function testGuards(guards: readonly Guard[]): void {
  for (const guard of guards) testGuard(guard);
}

function testGuard(guard: Guard): void {
  test(`the simulation bites without the guard: ${guard.name}`, async () => {
    const copy = await mkdtemp(join(tmpdir(), "nodelet-bite-"));
    try {
      for (const part of ["src", "test/sim", "test/support", "package.json"]) {
        await cp(join(ROOT, part), join(copy, part), { recursive: true });
      }
      await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"));
      const path = join(copy, guard.file);
      const text = await readFile(path, "utf8");
      assert(
        text.includes(guard.line),
        `${guard.file} has no longer the line that guards: ${guard.line}`,
      );
      await writeFile(path, text.replace(guard.line, guard.without));
      const { code, output } = await play(copy, guard);
      assert.notEqual(code, 0, `nothing noticed within ${SEEDS} seeds:\n${output}`);
      assert.match(output, /^(Error: )?seed \d+: |^SimFailure/m, output);
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });
}

function play(
  folder: string,
  { play: program = "play.ts", first = 1 }: Guard,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const args = [join(folder, "test/sim", program), String(first), String(SEEDS)];
    execFile(process.execPath, args, { maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve({ code: error ? 1 : 0, output: `${stdout}${stderr}`.slice(0, 4000) });
    });
  });
}
