// Which unit tests run several in one process: those in whose reach is nothing but computation and files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";
import { importedBy, namesFrom, specifiersOf } from "./imports.mjs";

/** Few enough that the processes of a whole run end at about the same time. */
const FILES_PER_PROCESS = 40;

/** What a file may use of Node; `undefined` is everything. */
const HARMLESS = {
  "node:assert/strict": undefined,
  "node:crypto": undefined,
  "node:events": undefined,
  "node:fs": undefined,
  "node:fs/promises": undefined,
  "node:net": ["isIP", "isIPv4", "isIPv6"],
  "node:os": ["tmpdir"],
  "node:path": undefined,
  "node:timers/promises": undefined,
  "node:stream": undefined,
  "node:url": undefined,
  "node:util": undefined,
  "node:zlib": undefined,
};

/** Mocks of the test runner would hold for all files of a process. */
const OWN_TESTS = ["after", "afterEach", "before", "beforeEach", "describe", "it", "suite", "test"];

/** Packages that only compute. */
const PACKAGES = ["@bufbuild/protobuf", "fast-check", "fast-string-width", "js-yaml", "lru-cache"];

/**
 * Groups of files as `runAll` takes them, in the order of their first files. Unit tests that only compute, or
 * use files, share processes; each other file is a group of its own.
 */
export function batches(files, read = readSource) {
  const known = new Map();
  const shares = ({ path, kind }) =>
    kind === "unit" && obstacleToSharing(path, read, known) === undefined;
  const together = files.filter(shares);
  const count = Math.ceil(together.length / FILES_PER_PROCESS);
  const shared = Map.groupBy(together, (file) => together.indexOf(file) % count);
  return files.flatMap((file) => {
    const at = together.indexOf(file);
    if (at < 0) return [[file]];
    return at < count ? [shared.get(at)] : [];
  });
}

/** Why a test cannot share its process with others, or undefined. */
export function obstacleToSharing(path, read = readSource, known = new Map()) {
  const reached = new Set([path]);
  for (const file of reached) {
    if (!known.has(file)) known.set(file, examine(file, read(file)));
    const { obstacle, imports, registersTests } = known.get(file);
    if (obstacle !== undefined) return `${file} ${obstacle}`;
    if (registersTests && file !== path) return `${file} adds tests to the file`;
    for (const to of imports) reached.add(to);
  }
  return undefined;
}

function examine(path, text) {
  const own = namesFrom("node:test", text);
  return {
    imports: importedBy(path, text).filter((to) => /\.(?:ts|mjs|js|cjs)$/.test(to)),
    registersTests: own.length > 0,
    obstacle: usesProcess(text) ?? own.map(hookName).find(Boolean) ?? foreignModule(text),
  };
}

/** What belongs to the process as a whole: its environment, folder, streams, exit code. What never changes does not. */
function usesProcess(text) {
  const shared =
    /(?<![\w./#-])process\.(?!(?:arch|execPath|getuid|pid|platform|version)\b)[a-z]\w*|\bglobalThis\b(?!\.[A-Z]\w*[.()<])|\bfetch\(/;
  const use = shared.exec(withoutComments(text));
  if (use) return `uses ${use[0]}`;
  return /\bimport\(\s*[^"'\s]/.test(text) ? "loads what its text does not name" : undefined;
}

const hookName = (name) => (OWN_TESTS.includes(name) ? undefined : `uses ${name} of node:test`);

function foreignModule(text) {
  for (const specifier of specifiersOf(text)) {
    if (specifier.startsWith(".") || specifier === "node:test") continue;
    const allowed = HARMLESS[specifier];
    const known = specifier in HARMLESS || PACKAGES.some((name) => isOf(specifier, name));
    if (!known) return `loads ${specifier}`;
    const other = allowed && namesFrom(specifier, text).find((name) => !allowed.includes(name));
    if (other !== undefined) return `uses ${other} of ${specifier}`;
  }
  return undefined;
}

const isOf = (specifier, name) => specifier === name || specifier.startsWith(`${name}/`);

function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function readSource(path) {
  return readFileSync(join(ROOT, path), "utf8");
}
