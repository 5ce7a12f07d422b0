// pure
/** The rules of `modules.json`: who may import whom, which packages, which modules of Node. */
import type { Violation } from "./violation.ts";

/** The content of `tools/modules.json`. */
export interface ModuleRules {
  /** For each module below src/ the modules it may import. */
  readonly modules: Readonly<Record<string, readonly string[]>>;
  /** Modules whose folders must not import one another, with the exceptions. */
  readonly siblings: Readonly<Record<string, string | Readonly<Record<string, readonly string[]>>>>;
  /** Folders, as `module/*`, whose entry point is the file of their own name. */
  readonly entryPoints: readonly string[];
  /** Further entry points, by folder, like `{ "outside/cri": ["connect-cri.ts"] }`. */
  readonly furtherEntryPoints?: Readonly<Record<string, readonly string[]>>;
  /** Folders or files below src/ that alone may import a package. */
  readonly packages: Readonly<Record<string, readonly string[]>>;
  /** Folders or files below src/ that may import `node:` modules. */
  readonly nodeModules: readonly string[];
  /** Folders or files below src/ whose file system and process calls may block the thread, by the reason. */
  readonly synchronous?: Readonly<Record<string, string | readonly string[]>>;
  /** Where work on a list is started through `kit/in-parallel.ts` only. */
  readonly boundedParallel?: readonly string[];
}

/** An import with both ends resolved; paths are relative to the checkout. */
export interface Edge {
  readonly from: string;
  readonly line: number;
  readonly specifier: string;
  /** Undefined for packages and Node's modules. */
  readonly to: string | undefined;
}

/** Files that only tests use: they may reach for any tool. */
export function isTestFile(path: string): boolean {
  return !path.startsWith("src/") || /\.(test|vectors)\.ts$|\/testdata\//.test(path);
}

/** What is wrong with one import. */
export function checkEdge(edge: Edge, moduleRules: ModuleRules): Violation[] {
  if (!edge.from.startsWith("src/")) return [];
  const wrong =
    edge.to === undefined ? wrongPackage(edge, moduleRules) : wrongFile(edge, edge.to, moduleRules);
  return wrong.map((message) => ({ rule: "modules", path: edge.from, line: edge.line, message }));
}

function wrongPackage({ from, specifier }: Edge, moduleRules: ModuleRules): string[] {
  if (isTestFile(from)) return [];
  const place = from.slice("src/".length);
  if (specifier.startsWith("node:"))
    return isWithin(place, moduleRules.nodeModules)
      ? []
      : [`${specifier} only in ${moduleRules.nodeModules.join(", ")}`];
  const places = placesOfPackage(specifier, moduleRules);
  return places === undefined || isWithin(place, places)
    ? []
    : [`${specifier} only in ${places.join(", ")}`];
}

/** Where a package may be imported; undefined means anywhere. */
export function placesOfPackage(
  specifier: string,
  moduleRules: ModuleRules,
): readonly string[] | undefined {
  return Object.entries(moduleRules.packages).find(
    ([name]) => specifier === name || specifier.startsWith(`${name}/`),
  )?.[1];
}

function wrongFile(edge: Edge, to: string, moduleRules: ModuleRules): string[] {
  const { from } = edge;
  if (!to.startsWith("src/")) return isTestFile(from) ? [] : [`${to} is not part of the product`];
  const source = from.slice("src/".length);
  const target = to.slice("src/".length);
  const [sourceModule, targetModule] = [moduleOf(source), moduleOf(target)];
  const allowed = moduleRules.modules[sourceModule];
  if (!allowed) return [`${sourceModule} is not a module of modules.json`];
  if (sourceModule !== targetModule && !allowed.includes(targetModule))
    return [`${sourceModule} must not import ${targetModule} (${target})`];
  const between =
    sourceModule === targetModule ? siblingRule(source, target, moduleRules) : undefined;
  if (between === "forbidden") return [`${source} must not import its sibling ${target}`];
  if (between === "listed" || isTestFile(from)) return [];
  return usesEntryPoint(source, target, moduleRules)
    ? []
    : [`${target} is not an entry point of its module`];
}

function moduleOf(path: string): string {
  return path.split("/")[0] ?? "";
}

/** The sibling rule for an import within one module; undefined when there is none. */
function siblingRule(
  source: string,
  target: string,
  moduleRules: ModuleRules,
): "listed" | "forbidden" | undefined {
  const rules = moduleRules.siblings[moduleOf(source)];
  if (rules === undefined || typeof rules === "string") return undefined;
  const [from, to] = [source.split("/")[1] ?? "", target.split("/")[1] ?? ""];
  if (from === to) return undefined;
  const exceptions = rules[from];
  const rest = target.slice(moduleOf(target).length + 1);
  if (exceptions?.includes(rest)) return "listed";
  if (exceptions?.includes(to)) return undefined;
  const betweenFolders = !from.endsWith(".ts") && !to.endsWith(".ts");
  return exceptions || betweenFolders ? "forbidden" : undefined;
}

/** The entry point of `outside/net` is `outside/net/net.ts`; files inside may import each other. */
function usesEntryPoint(source: string, target: string, moduleRules: ModuleRules): boolean {
  const [module, folder, ...rest] = target.split("/");
  if (rest.length === 0 || !moduleRules.entryPoints.includes(`${module}/*`)) return true;
  if (source.startsWith(`${module}/${folder}/`)) return true;
  const entryPoints = [
    `${folder}.ts`,
    ...(moduleRules.furtherEntryPoints?.[`${module}/${folder}`] ?? []),
  ];
  return entryPoints.includes(rest.join("/"));
}

/** Whether a file below src/ is one of the places or in one of them. */
export function isWithin(place: string, places: readonly string[]): boolean {
  return places.some((each) => place === each || place.startsWith(`${each}/`));
}
