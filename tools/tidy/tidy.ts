/** Reads the checkout and applies all rules to it. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join, normalize } from "node:path";
import { archiveBase } from "../debian-suite.mjs";
import { checkBlocking, checkParallel } from "./blocking.ts";
import { checkCircles, checkFolderCircles } from "./circles.ts";
import { checkFolders } from "./folders.ts";
import {
  checkEdge,
  type Edge,
  isTestFile,
  type ModuleRules,
  placesOfPackage,
} from "./module-rules.ts";
import { checkModuleState } from "./module-state.ts";
import { checkNames } from "./naming.ts";
import { checkOwnCode } from "./own-code.ts";
import { checkPurity, type PurityLookup } from "./purity.ts";
import { checkReaders } from "./readers.ts";
import { checkSizes } from "./sizes.ts";
import { readSource, type SourceFile } from "./source.ts";
import { checkSpreads } from "./spreads.ts";
import { checkTwice } from "./twice.ts";
import type { Violation } from "./violation.ts";
import { checkWiring } from "./wiring.ts";
import { checkWords } from "./words.ts";

/** Text files by path relative to the checkout, and the rules of the repository. */
export interface Tree {
  readonly files: ReadonlyMap<string, string>;
  readonly moduleRules: ModuleRules;
  /** Packages that `package.json` lists for the product. */
  readonly dependencies: readonly string[];
  /** Those of them that some file of the product must import. */
  readonly imported: readonly string[];
  /** Files that nobody imports because they are started or imported from elsewhere. */
  readonly entries: readonly string[];
  readonly machineWords: readonly string[];
}

/** Everything in the tree that breaks a rule. */
export function findViolations(tree: Tree): Violation[] {
  const found: Violation[] = [];
  const sources = readSources(tree, found);
  for (const file of sources.values()) {
    for (const each of file.imports) found.push(...checkImport(file, each, tree));
    found.push(...checkPurity(file, purityLookup(file.path, sources, tree.moduleRules)));
    if (isGenerated(file.path)) continue;
    found.push(...checkSizes(file), ...checkNames(file), ...checkSpreads(file));
    found.push(...checkModuleState(file));
    found.push(...checkBlocking(file, tree.moduleRules), ...checkParallel(file, tree.moduleRules));
  }
  found.push(...checkWiring(sources, resolveImport), ...deadFiles(sources, tree.entries));
  found.push(...checkCircles(sources, resolveImport));
  found.push(...checkFolderCircles(sources, resolveImport));
  found.push(...unusedPackages(sources, tree.imported), ...checkFolders(sources.keys()));
  found.push(...checkTwice([...sources.values()].filter(({ path }) => !isGenerated(path))));
  found.push(...checkReaders([...sources.values()], tree.files));
  found.push(...checkOwnCode(tree.files));
  for (const [path, text] of tree.files) found.push(...checkWords(path, text, tree.machineWords));
  return found;
}

/** What cannot be read becomes a violation. */
function readSources(tree: Tree, found: Violation[]): ReadonlyMap<string, SourceFile> {
  const sources = new Map<string, SourceFile>();
  for (const [path, text] of tree.files) {
    if (!/^(?:src|test|tools|examples)\/.*\.ts$/.test(path) || path.endsWith(".d.ts")) continue;
    try {
      sources.set(path, readSource(path, text));
    } catch (error) {
      const message = `cannot be read: ${error instanceof Error ? error.message : error}`;
      found.push({ rule: "files", path, line: 0, message });
    }
  }
  return sources;
}

function checkImport(
  file: SourceFile,
  { specifier, line }: { readonly specifier: string; readonly line: number },
  tree: Tree,
): Violation[] {
  const to = resolveImport(file.path, specifier);
  const edge: Edge = { from: file.path, line, specifier, to };
  const found = checkEdge(edge, tree.moduleRules);
  const violation = (message: string): Violation => ({
    rule: "files",
    path: file.path,
    line,
    message,
  });
  if (to !== undefined && !tree.files.has(to)) found.push(violation(`${specifier} does not exist`));
  const product = file.path.startsWith("src/") && !isTestFile(file.path);
  if (to === undefined && product && !specifier.startsWith("node:")) {
    const name = packageOf(specifier);
    if (!tree.dependencies.includes(name))
      found.push(violation(`${name} is no dependency of package.json`));
  }
  return found;
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Packages that are installed for nobody. */
function unusedPackages(
  sources: ReadonlyMap<string, SourceFile>,
  packages: readonly string[],
): Violation[] {
  const used = new Set<string>();
  for (const { path, imports } of sources.values())
    if (path.startsWith("src/") && !isTestFile(path))
      for (const { specifier } of imports) used.add(packageOf(specifier));
  return packages
    .filter((name) => !used.has(name))
    .map((name) => ({
      rule: "files",
      path: "package.json",
      line: 0,
      message: `${name} is imported by no file of src/`,
    }));
}

function purityLookup(
  path: string,
  sources: ReadonlyMap<string, SourceFile>,
  moduleRules: ModuleRules,
): PurityLookup {
  return {
    resolve: (specifier) => resolveImport(path, specifier),
    isPure: (target) => isPure(sources.get(target)),
    isGranted: (specifier) =>
      placesOfPackage(specifier, moduleRules)?.includes(path.slice("src/".length)) === true,
  };
}

/** Generated code may be imported by pure files: it is tables, enumerations and codecs. */
function isPure(file: SourceFile | undefined): boolean {
  return file !== undefined && (file.pure || isGenerated(file.path));
}

function isGenerated(path: string): boolean {
  return path.includes("/generated/");
}

function resolveImport(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? normalize(join(dirname(from), specifier)) : undefined;
}

/** Product files that cannot be reached from an entry; tests do not count as users. */
function deadFiles(
  sources: ReadonlyMap<string, SourceFile>,
  entries: readonly string[],
): Violation[] {
  const reached = new Set<string>();
  const visit = (path: string) => {
    const file = sources.get(path);
    if (!file || reached.has(path)) return;
    reached.add(path);
    for (const { specifier } of file.imports) {
      const to = resolveImport(path, specifier);
      if (to !== undefined) visit(to);
    }
  };
  entries.forEach(visit);
  return [...sources.keys()]
    .filter((path) => path.startsWith("src/") && !isTestFile(path) && !reached.has(path))
    .map((path) => ({ rule: "dead", path, line: 0, message: "is used by nobody" }));
}

/** The checkout at `root`: what git tracks or would track. */
export function readTree(root: string): Tree {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
  });
  const files = new Map<string, string>();
  for (const path of listed.split("\0")) {
    if (path === "" || !existsSync(join(root, path))) continue;
    const text = readFileSync(join(root, path), "utf8");
    if (!text.includes("\0")) files.set(path, text);
  }
  const manifest: unknown = JSON.parse(files.get("package.json") ?? "{}");
  return {
    files,
    moduleRules: JSON.parse(files.get("tools/modules.json") ?? "{}") as ModuleRules,
    ...dependenciesOf(manifest),
    // Documentation is generated from the tables of the configuration.
    entries: [
      "src/main.ts",
      "src/library.ts",
      "src/api/metrics/metrics-docs.ts",
      "src/page/app.ts",
      "src/config/config-docs.ts",
      "src/outside/host/worker/main.ts",
    ],
    machineWords: machineWords(root),
  };
}

function dependenciesOf(manifest: unknown): Pick<Tree, "dependencies" | "imported"> {
  const { dependencies = {}, optionalDependencies = {} } = manifest as Readonly<
    Record<string, Readonly<Record<string, string>> | undefined>
  >;
  // What is optional is a program, not a library: Node itself.
  const imported = Object.keys(dependencies);
  return { dependencies: [...imported, ...Object.keys(optionalDependencies)], imported };
}

/** Folders whose content says nothing of this checkout. */
const SHARED_FOLDERS = new Set(["/", "/tmp", "/root", "/home", "/opt", "/srv", "/mnt", "/var/tmp"]);

/** Read from the machine, so that the words themselves stand nowhere. */
function machineWords(root: string): string[] {
  const parent = dirname(root);
  const beside = SHARED_FOLDERS.has(parent)
    ? []
    : readdirSync(parent).map((name) => join(parent, name));
  const words = [root, ...beside, hostname(), npmRegistryHost(), archiveHost()];
  return words.filter(
    (word): word is string => word !== undefined && word.length > 4 && word !== "localhost",
  );
}

function npmRegistryHost(): string | undefined {
  const settings = [process.env["npm_config_registry"], registryOf("/etc/npmrc")];
  const home = process.env["HOME"];
  if (home !== undefined) settings.push(registryOf(join(home, ".npmrc")));
  const own = settings.find((url) => url !== undefined && !url.includes("registry.npmjs.org"));
  return own === undefined ? undefined : new URL(own).host;
}

function registryOf(npmrc: string): string | undefined {
  if (!existsSync(npmrc)) return undefined;
  return /^registry\s*=\s*(\S+)/m.exec(readFileSync(npmrc, "utf8"))?.[1];
}

function archiveHost(): string | undefined {
  try {
    const { host } = new URL(archiveBase());
    return host.endsWith("debian.org") ? undefined : host;
  } catch {
    return undefined;
  }
}
