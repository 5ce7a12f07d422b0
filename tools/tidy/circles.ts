// pure
/**
 * Imports in a circle, types included: of files, and of the parts of a folder (its files and the folders in it). None can be
 * read without the others.
 */
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

type Resolve = (from: string, specifier: string) => string | undefined;

/** An import, as an arrow to what it leads to. */
interface Arrow {
  readonly to: string;
  readonly path: string;
  readonly line: number;
}

/** Every circle of files once, named by the path along it that was found first. */
export function checkCircles(
  sources: ReadonlyMap<string, SourceFile>,
  resolve: Resolve,
): Violation[] {
  const files = [...sources.keys()].filter((path) => path.startsWith("src/"));
  const arrows = new Map(files.map((path) => [path, arrowsOf(path, sources, resolve)]));
  return circlesOf(arrows).map((circle) => violation(circle, "closes a circle of imports"));
}

/** Every circle of the parts of a folder that is none of files alone, of files that are no tests. */
export function checkFolderCircles(
  sources: ReadonlyMap<string, SourceFile>,
  resolve: Resolve,
): Violation[] {
  const arrows = new Map<string, Arrow[]>();
  for (const path of sources.keys()) {
    if (!path.startsWith("src/") || isTestFile(path)) continue;
    for (const { to, line } of arrowsOf(path, sources, resolve)) {
      const [from, into] = partsOf(path, to);
      if (from !== into) append(arrows, from, { to: into, path, line });
    }
  }
  return circlesOf(arrows)
    .filter(({ parts }) => parts.some((part) => !sources.has(part)))
    .map((circle) => violation(circle, "closes a circle of the parts of a folder"));
}

function arrowsOf(
  path: string,
  sources: ReadonlyMap<string, SourceFile>,
  resolve: Resolve,
): Arrow[] {
  return (sources.get(path)?.imports ?? []).flatMap(({ specifier, line }) => {
    const to = resolve(path, specifier);
    return to === undefined || !sources.has(to) ? [] : [{ to, path, line }];
  });
}

/** The parts of the innermost folder of both in which they are. */
function partsOf(one: string, other: string): readonly [string, string] {
  const [mine, theirs] = [one.split("/"), other.split("/")];
  const length = mine.findIndex((word, index) => word !== theirs[index]) + 1;
  return [mine.slice(0, length).join("/"), theirs.slice(0, length).join("/")];
}

function append(lists: Map<string, Arrow[]>, key: string, arrow: Arrow): void {
  const list = lists.get(key);
  if (list) list.push(arrow);
  else lists.set(key, [arrow]);
}

/** The parts from the first to the first again, and the import that leads back. */
interface Circle {
  readonly parts: readonly string[];
  readonly path: string;
  readonly line: number;
}

function circlesOf(arrows: ReadonlyMap<string, readonly Arrow[]>): Circle[] {
  const found: Circle[] = [];
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const visit = (node: string) => {
    state.set(node, "open");
    trail.push(node);
    for (const { to, path, line } of arrows.get(node) ?? []) {
      if (state.get(to) === undefined) visit(to);
      else if (state.get(to) === "open")
        found.push({ parts: [...trail.slice(trail.indexOf(to)), to], path, line });
    }
    trail.pop();
    state.set(node, "done");
  };
  for (const node of arrows.keys()) if (state.get(node) === undefined) visit(node);
  return found;
}

function violation({ parts, path, line }: Circle, what: string): Violation {
  return { rule: "modules", path, line, message: `${what}: ${parts.join(" > ")}` };
}
