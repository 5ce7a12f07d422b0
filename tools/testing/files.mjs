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
  unit: { limitSeconds: 180, parallel: true },
  sim: { limitSeconds: 2400, parallel: true, background: true },
  integration: { limitSeconds: 600, parallel: false },
  soak: { limitSeconds: 7200, parallel: false, onRequest: true },
};

/** All TypeScript files, paths relative to the checkout. */
export function sourceFiles() {
  return ["src", "tools", "test"].flatMap(walk).filter((path) => path.endsWith(".ts"));
}

/** All test files as `{ path, kind }`, paths relative to the checkout, by kind and name. */
export function testFiles() {
  const order = Object.keys(KINDS);
  return ["src", "tools", "test"]
    .flatMap(walk)
    .map((path) => ({ path, kind: kindOf(path) }))
    .filter((file) => file.kind !== undefined)
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || (a.path < b.path ? -1 : 1));
}

function kindOf(path) {
  if (path.startsWith("test/") && path.endsWith(".it.ts")) return "integration";
  if (path.startsWith("test/") && path.endsWith(".soak.ts")) return "soak";
  if (!path.endsWith(".test.ts")) return undefined;
  if (path.startsWith("test/sim/")) return "sim";
  return path === "tools/tidy.test.ts" ? "tidy" : "unit";
}

function walk(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return walk(path);
    return entry.isFile() ? [path] : [];
  });
}
