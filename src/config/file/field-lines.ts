// pure

/** Longer files get no line numbers; a configuration has some hundred lines. */
const MAX_LINES = 20_000;

const KEY = /^( *)(?:"([^"]+)"|'([^']+)'|([^\s#"'[\]{},&*!|>%@`-][^:#]*?))\s*:(?=\s|$)/;

/**
 * On which line (from 1) each field of a block-style YAML text stands, by dotted path; entries of maps as
 * `field[entry]`. Flow style, lists and multi-line texts are skipped: a missing path has no known line.
 */
export function fieldLines(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const open: { readonly indent: number; readonly path: string }[] = [];
  const lines = text.split("\n", MAX_LINES + 1);
  if (lines.length > MAX_LINES) return found;
  lines.forEach((line, i) => {
    const match = KEY.exec(line);
    if (match === null) return;
    const indent = (match[1] ?? "").length;
    const name = match[2] ?? match[3] ?? match[4] ?? "";
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const parent = open.at(-1)?.path;
    const path = parent === undefined ? name : `${parent}.${name}`;
    if (!found.has(path)) found.set(path, i + 1);
    if (parent !== undefined && !found.has(`${parent}[${name}]`)) {
      found.set(`${parent}[${name}]`, i + 1);
    }
    open.push({ indent, path });
  });
  return found;
}

/** The line of `path`, or of the nearest thing around it that has one. */
export function lineOfField(lines: ReadonlyMap<string, number>, path: string): number | undefined {
  let at = path;
  for (;;) {
    const line = lines.get(at);
    if (line !== undefined) return line;
    const end = Math.max(at.lastIndexOf("["), at.lastIndexOf("."));
    if (end <= 0) return undefined;
    at = at.slice(0, end);
  }
}
