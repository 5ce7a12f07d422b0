// pure
/** What is read of a CPU profile as V8 writes it (`--cpu-prof`). Times are microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function as it was called from its parent, with all that it has called. */
export interface Frame {
  readonly name: string;
  /** Itself and all below it. */
  totalUs: number;
  selfUs: number;
  readonly children: Map<string, Frame>;
}

/** Time in which nothing ran says nothing about what runs. */
const IDLE = "(idle)";

/** The calls of a profile, functions of the same name and place below one parent as one; idle time left out. */
export function framesOf({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const selfUs = new Map<number, number>();
  samples.forEach((id, i) => {
    selfUs.set(id, (selfUs.get(id) ?? 0) + Math.max(0, timeDeltas[i] ?? 0));
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const add = (id: number, parent: Frame): number => {
    const node = byId.get(id);
    if (node === undefined || node.callFrame.functionName === IDLE) return 0;
    const name = nameOf(node.callFrame);
    const frame = parent.children.get(name) ?? newFrame(name);
    parent.children.set(name, frame);
    const own = selfUs.get(id) ?? 0;
    const below = (node.children ?? []).reduce((sum, child) => sum + add(child, frame), 0);
    frame.selfUs += own;
    frame.totalUs += own + below;
    return own + below;
  };
  const all = newFrame("all");
  const called = new Set(nodes.flatMap(({ children = [] }) => children));
  const roots = nodes.filter(({ id }) => !called.has(id));
  all.totalUs = roots.reduce((sum, { id }) => sum + add(id, all), 0);
  // V8's own root is one more level that says nothing.
  return all.children.get("(root)") ?? all;
}

function newFrame(name: string): Frame {
  return { name, totalUs: 0, selfUs: 0, children: new Map() };
}

function nameOf({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"]) {
  const file = url.slice(url.lastIndexOf("/") + 1);
  return `${functionName || "(anonymous)"}${file === "" ? "" : ` ${file}:${lineNumber + 1}`}`;
}

const WIDTH = 1600;
const ROW = 17;
/** Narrower ones are left out, in pixels. */
const NARROWEST = 0.4;
const PIXELS_OF_A_LETTER = 7;

/** A picture (SVG) of what took how long: the width of a box is its share of the time, what it calls stands below it. */
export function flameGraph(root: Frame): string {
  const boxes: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, x: number, depth: number): void => {
    const width = (frame.totalUs / root.totalUs) * WIDTH;
    if (width < NARROWEST) return;
    deepest = Math.max(deepest, depth);
    boxes.push(boxOf(frame, { x, y: depth * ROW, width }, root.totalUs));
    let at = x;
    const children = [...frame.children.values()].sort((a, b) => b.totalUs - a.totalUs);
    for (const child of children) {
      draw(child, at, depth + 1);
      at += (child.totalUs / root.totalUs) * WIDTH;
    }
  };
  draw(root, 0, 0);
  const height = (deepest + 1) * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="monospace" font-size="11">`,
    ...boxes,
    "</svg>\n",
  ].join("\n");
}

function boxOf(
  { name, totalUs, selfUs }: Frame,
  { x, y, width }: { readonly x: number; readonly y: number; readonly width: number },
  allUs: number,
): string {
  const share = (us: number) => `${((100 * us) / allUs).toFixed(1)} %`;
  const about = `${name}: ${(totalUs / 1000).toFixed(1)} ms, ${share(totalUs)}, itself ${share(selfUs)}`;
  const label = name.slice(0, Math.max(0, Math.floor((width - 4) / PIXELS_OF_A_LETTER)));
  const text =
    label.length < 3
      ? ""
      : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>`;
  const hue = 10 + ([...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 40);
  return `<g><title>${escaped(about)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.3, width - 0.3).toFixed(1)}" height="${ROW - 1}" fill="hsl(${hue} 85% 65%)"/>${text}</g>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
