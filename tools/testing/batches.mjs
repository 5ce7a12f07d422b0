// Which tests run several in one process: those in whose reach is nothing that belongs to a process as a whole.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LONG_TESTS, ROOT } from "./files.mjs";
import { importedBy, namesFrom, specifiersOf } from "./imports.mjs";

/** Few enough that the processes of a whole run end at about the same time. */
const FILES_PER_PROCESS = 40;

/** What a file may use of Node. Servers, connections and children are each test's own, and it ends them. */
const HARMLESS = new Set(
  `assert assert/strict async_hooks buffer child_process crypto dns dns/promises events fs fs/promises http http2 https
  net os path perf_hooks readline sea sqlite stream stream/consumers stream/promises string_decoder timers
  timers/promises tls url util v8 worker_threads zlib`
    .split(/\s+/)
    .map((name) => `node:${name}`),
);

/** Mocks of the test runner would hold for all files of a process. */
const OWN_TESTS = ["after", "afterEach", "before", "beforeEach", "describe", "it", "suite", "test"];

/** Packages that keep nothing for all of a process. */
const PACKAGES = [
  "@bufbuild/protobuf",
  "@grpc/grpc-js",
  "commander",
  "dbus-native",
  "fast-check",
  "fast-string-width",
  "js-yaml",
  "lru-cache",
  "ws",
];

/** What changes nothing of the process, or what each test does to its own children. */
const UNCHANGING = new Set(
  `arch argv cwd emitWarning execArgv execPath getuid hrtime kill nextTick pid platform ppid release stderr stdout
  uptime version versions`.split(/\s+/),
);

/** What the agent may do, as it reports of itself and ends itself; a test that does it needs a process of its own. */
const AGENTS_OWN = /^(?:cpuUsage|exit|getActiveResourcesInfo|memoryUsage|resourceUsage)$/;

/** What holds for all of a process, beside members of `process`: changes of the environment, globals. */
const SHARED = new RegExp(
  [
    String.raw`(?<![\w./#-])process\.env(?!\["\w+"\](?!\s*(?:\?\?|\|\|)?=(?!=)))`,
    String.raw`\bdelete process\.env\b`,
    String.raw`\bglobalThis\b(?!\.[A-Z]\w*[.()<])`,
    String.raw`\bfetch\(`,
  ].join("|"),
);

/** Lists of a process that tests count: those of its descriptors, of its threads. */
const COUNTED = /\/proc\/self\/(?:fd|task)["'`]|\breadOpenFiles\(process/;

/**
 * Groups of files as `runAll` takes them, in the order of their first files. Unit tests without an obstacle share
 * processes, but for the long ones; each other file is a group of its own.
 */
export function batches(files, read = readSource) {
  const known = new Map();
  const shares = ({ path, kind }) =>
    kind === "unit" &&
    !LONG_TESTS.includes(path) &&
    obstacleToSharing(path, read, known) === undefined;
  const together = files.filter(shares);
  return dealt(files, together, Math.ceil(together.length / FILES_PER_PROCESS));
}

/**
 * Groups of files of the simulation, one for each core: they load the same agent, and meet it through fakes only.
 * Others are groups of their own.
 */
export function simulationBatches(files, cores) {
  const together = files.filter(({ kind }) => kind === "sim");
  return dealt(files, together, Math.min(cores, together.length));
}

/** Files of `together` in `count` groups, each other one alone. */
function dealt(files, together, count) {
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
    obstacle: usesProcess(path, text) ?? own.map(hookName).find(Boolean) ?? foreignModule(text),
  };
}

/** What belongs to the process as a whole. */
function usesProcess(path, text) {
  const code = withoutComments(text);
  const isAgent = path.startsWith("src/") && !path.endsWith(".test.ts");
  const isHarmless = (member) =>
    UNCHANGING.has(member) || member === "env" || (isAgent && AGENTS_OWN.test(member));
  for (const [use, member] of code.matchAll(/(?<![\w./#-])process\.([a-z]\w*)/g))
    if (member in process && !isHarmless(member)) return `uses ${use}`;
  const use = SHARED.exec(code) ?? (isAgent ? null : COUNTED.exec(code));
  if (use) return `uses ${use[0]}`;
  return /\bimport\(\s*[^"'\s]/.test(text) ? "loads what its text does not name" : undefined;
}

const hookName = (name) => (OWN_TESTS.includes(name) ? undefined : `uses ${name} of node:test`);

function foreignModule(text) {
  for (const specifier of specifiersOf(text)) {
    if (specifier.startsWith(".") || specifier === "node:test") continue;
    const known = HARMLESS.has(specifier) || PACKAGES.some((name) => isOf(specifier, name));
    if (!known) return `loads ${specifier}`;
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
