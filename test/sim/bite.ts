// The simulation must bite: with one guard taken out of the agent it has to find a failing history.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../..");
const PRELOAD = pathToFileURL(join(ROOT, "tools/mutants/load-mutant.mjs")).href;

/** Seeds tried before a guard counts as not guarded. */
const SEEDS = 300;

/** A line of the agent that something depends on. */
export interface Guard {
  readonly name: string;
  readonly file: string;
  readonly line: string;
  readonly without: string;
  /** The first seed, a little before one that shows it; default 1. */
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
    const path = join(ROOT, guard.file);
    const text = await readFile(path, "utf8");
    assert(
      text.includes(guard.line),
      `${guard.file} has no longer the line that guards: ${guard.line}`,
    );
    const folder = await mkdtemp(join(tmpdir(), "nodelet-bite-"));
    try {
      const changed = join(folder, "changed.ts");
      await writeFile(changed, text.replace(guard.line, guard.without));
      const mutant = JSON.stringify({ url: pathToFileURL(path).href, text: changed });
      const { code, output } = await play(guard, mutant);
      assert.notEqual(code, 0, `nothing noticed within ${SEEDS} seeds:\n${output}`);
      assert.match(output, /^(Error: )?seed \d+: |^SimFailure/m, output);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** Plays up to the first failure, with the file changed that `mutant` names. */
function play(
  { play: program = "play.ts", first = 1 }: Guard,
  mutant: string,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const args = [join(import.meta.dirname, program), String(first), String(SEEDS), "1"];
    const options = { maxBuffer: 1 << 24, env: { ...process.env, NODELET_MUTANT: mutant } };
    execFile(process.execPath, [`--import=${PRELOAD}`, ...args], options, (error, ...outputs) => {
      resolve({ code: error ? 1 : 0, output: outputs.join("").slice(0, 4000) });
    });
  });
}
