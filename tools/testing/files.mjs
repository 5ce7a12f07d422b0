// Which test files there are and of what kind.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Kinds in the order they run: the time one file may take, whether many may run at once, whether they run beside
 * the integration tests at the lowest priority (they use virtual time, so nothing in them can be late), and
 * whether only when named.
 */
export const KINDS = {
  tidy: { limitSeconds: 120, parallel: true },
  long: { limitSeconds: 180, parallel: true },
  unit: { limitSeconds: 180, parallel: true },
  histories: { limitSeconds: 4800, parallel: true, background: true },
  sim: { limitSeconds: 4800, parallel: true, background: true },
  integration: { limitSeconds: 600, parallel: false },
  soak: { limitSeconds: 7200, parallel: false, onRequest: true },
};

/**
 * Integration tests that run after the others, one at a time: a fork bomb makes all others late, and an agent that has to
 * answer, to probe or to end pods within a fixed time is late beside others.
 */
export const ALONE = [
  "test/agent/hung-filesystem.it.ts",
  "test/agent/shutdown.it.ts",
  "test/conformance/part.it.ts",
  "test/eviction/processes.it.ts",
  "test/probes/hostile.it.ts",
  "test/probes/slow-runtime.it.ts",
  "test/probes/verdicts.it.ts",
];

/**
 * Tests that take as much processor time as hundreds of others, since they mount file systems that hang, start the
 * program again and again, or make thousands of inputs or events: only a whole run has them, or a change of themselves.
 */
const WHOLE_RUN_ONLY = [
  "src/outside/host/worker/file-workers.test.ts",
  "test/cli/processes.test.ts",
  "test/events/burst.test.ts",
  "test/fuzz/fuzz.test.ts",
];

/** Unit tests of about 5 seconds and integration tests of a minute: they start first, so that none runs alone at the end. */
export const LONG_TESTS = [
  "test/agent/lifecycle.it.ts",
  "test/agent/stories.it.ts",
  "test/cli/supervisor.it.ts",
  "test/cli/up.it.ts",
  "test/contracts/containerd.it.ts",
  "test/guest/v2.it.ts",
  "tools/code-cache/code-cache.test.ts",
  "test/server/metrics.test.ts",
  "test/server/peer-limits.test.ts",
  "test/contracts/host-contract.test.ts",
  "test/server/access.test.ts",
];

/** So many histories, or tests of so many changed sources, that only a whole run plays them. */
const HISTORIES =
  /^(?:test\/sim\/(?:bite|bite-eviction|devices|isolation|resizes)|tools\/mutants\/mutants)\.test\.ts$/;

/** All TypeScript files, paths relative to the checkout. */
export function sourceFiles() {
  return ["src", "tools", "test"].flatMap(walk).filter((path) => path.endsWith(".ts"));
}

/** All test files as `{ path, kind }`, paths relative to the checkout, in the order in which they start. */
export function testFiles() {
  const order = Object.keys(KINDS);
  const rank = ({ path, kind }) => [order.indexOf(kind), LONG_TESTS.includes(path) ? 0 : 1, path];
  return ["src", "tools", "test"]
    .flatMap(walk)
    .map((path) => ({ path, kind: kindOf(path) }))
    .filter((file) => file.kind !== undefined)
    .toSorted((a, b) => compare(rank(a), rank(b)));
}

/** Compares lists of numbers and texts, element by element. */
function compare(a, b) {
  const at = a.findIndex((value, index) => value !== b[index]);
  if (at < 0) return 0;
  return a[at] < b[at] ? -1 : 1;
}

function kindOf(path) {
  if (path.startsWith("test/") && path.endsWith(".it.ts")) return "integration";
  if (path.startsWith("test/") && path.endsWith(".soak.ts")) return "soak";
  if (!path.endsWith(".test.ts")) return undefined;
  if (HISTORIES.test(path)) return "histories";
  if (path.startsWith("test/sim/")) return "sim";
  if (path === "tools/tidy.test.ts") return "tidy";
  return WHOLE_RUN_ONLY.includes(path) ? "long" : "unit";
}

function walk(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return walk(path);
    return entry.isFile() ? [path] : [];
  });
}
