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

interface Guard {
  readonly name: string;
  readonly file: string;
  readonly line: string;
  readonly without: string;
  /** The first seed; default 1. */
  readonly first?: number;
  /** What plays the histories; default those of a node without a cluster. */
  readonly play?: string;
}

const GUARDS: readonly Guard[] = [
  {
    name: "life advances on a fresh observation only",
    file: "src/pipeline/pods/transition.ts",
    line: `if (record.freshness !== "fresh") return record;`,
    without: "",
  },
  {
    name: "a pod is planned on a fresh observation only",
    file: "src/pipeline/pods/actor.ts",
    line: `this.#record.freshness !== "fresh"`,
    without: "false",
  },
  {
    name: "what other modules know of a pod follows every record",
    file: "src/pipeline/pods/actor.ts",
    line: "this.#deps.onRecord(record);",
    without: "",
  },
  {
    name: "only an observation after the last action is fresh",
    file: "src/pipeline/pods/transition.ts",
    line: "observed.asOf >= record.actedAt",
    without: "true",
  },
  {
    name: "what probes found out holds over a restart",
    file: "src/pipeline/pods/record.ts",
    line: "probes: from.probes ?? {},",
    without: "probes: {},",
  },
  {
    name: "what has yet to start has failed no startup probe",
    file: "src/subsystems/probes/verdict.ts",
    line: `return rules.kind === "readiness"`,
    without: `return rules.kind !== undefined`,
    // Only a listing while a pod's containers start shows it: about one history in three hundred.
    first: 501,
  },
  {
    name: "a damaged state file does not stop the start",
    file: "src/kit/state/state-files.ts",
    line: "why = messageOf(error);",
    without: "throw error;",
  },
  {
    name: "nothing is an orphan before every source was seen",
    file: "src/pipeline/pods/pods.ts",
    line: "if (this.#sourcesSeen && !held?.desired && !this.#isSpared(found))",
    without: "if (!held?.desired)",
  },
  {
    name: "one object that fails for ever is its own pod's matter",
    file: "src/subsystems/runtime/observe.ts",
    line: `return { kind: "failed", uid, asOf, describe, problem: messageOf(error) };`,
    without: "throw error;",
    play: "play-isolation.ts",
  },
  {
    name: "one object that hangs for ever is waited for so long and no longer",
    file: "src/subsystems/runtime/observe.ts",
    line: "return await within(limit, signal, ask);",
    without: "return await ask(signal);",
    play: "play-isolation.ts",
  },
  {
    name: "nothing is started for a pod that was found and cannot be read",
    file: "src/pipeline/pods/pods.ts",
    line: "if (this.#unobserved.has(change.uid)) {",
    without: "if (false) {",
    play: "play-isolation.ts",
  },
  {
    name: "the full listing is due a period after the last one",
    file: "src/subsystems/runtime/watch-runtime.ts",
    line: "const began = this.#lastListing.get();",
    without: "const began = this.#deps.clock.monotonic();",
    play: "play-traffic.ts",
  },
  {
    name: "what is stopped to be started again is not shown as terminated",
    file: "src/pipeline/status/container-status.ts",
    line: "if (!latest.replaced) return undefined;",
    without: "return undefined;",
    play: "play-cluster.ts",
  },
  {
    name: "no status is written that the API refuses",
    file: "src/pipeline/cluster/writable-status.ts",
    line: "if (refused.length === 0)",
    without: "if (refused.length >= 0)",
    play: "play-cluster.ts",
  },
  {
    name: "while an evicted pod ends no other one is evicted",
    file: "src/subsystems/eviction/plan.ts",
    line: "const first = evicted ?? firstEvictable(ranking);",
    without: "const first = firstEvictable(ranking);",
    play: "play-eviction.ts",
  },
  {
    name: "the cleanup of an evicted pod is waited for",
    file: "src/node/eviction.ts",
    line: "return !record || (isReleasable(record) && record.observed.containers.length === 0);",
    without: "return true;",
    play: "play-eviction.ts",
  },
  {
    name: "what the node can do without goes before any pod",
    file: "src/subsystems/eviction/eviction.ts",
    line: "if (await this.#reclaim(pressure, round)) return [];",
    without: "",
    play: "play-eviction.ts",
  },
  {
    name: "no pod is evicted before all of them were observed",
    file: "src/subsystems/eviction/eviction.ts",
    line: "if (round.lacksPods) {",
    without: "if (false) {",
    play: "play-eviction.ts",
  },
  {
    name: "pressure is told of for the transition period",
    file: "src/subsystems/eviction/plan.ts",
    line: "now - seenAt < rules.transitionMs",
    without: "now === seenAt",
    play: "play-eviction.ts",
  },
  {
    name: "critical pods are not evicted",
    file: "src/subsystems/eviction/rank.ts",
    line: `!critical && candidate.ending !== "overdue"`,
    without: `candidate.ending !== "overdue"`,
    play: "play-eviction.ts",
  },
];

for (const guard of GUARDS) {
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
