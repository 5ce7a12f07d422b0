// pure
/** Files of the product that import one another in a circle, types included: none can be read without the others. */
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Every circle once, named by the path along it that was found first. */
export function checkCircles(
  sources: ReadonlyMap<string, SourceFile>,
  resolve: (from: string, specifier: string) => string | undefined,
): Violation[] {
  const found: Violation[] = [];
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const visit = (path: string) => {
    state.set(path, "open");
    trail.push(path);
    for (const { specifier, line } of sources.get(path)?.imports ?? []) {
      const to = resolve(path, specifier);
      if (to === undefined || !sources.has(to)) continue;
      if (state.get(to) === undefined) visit(to);
      else if (state.get(to) === "open") {
        const circle = [...trail.slice(trail.indexOf(to)), to];
        const message = `closes a circle of imports: ${circle.join(" > ")}`;
        found.push({ rule: "modules", path, line, message });
      }
    }
    trail.pop();
    state.set(path, "done");
  };
  for (const path of sources.keys())
    if (path.startsWith("src/") && state.get(path) === undefined) visit(path);
  return found;
}
