// pure
/** Output of `up` without a terminal: a line for each change. */
import type { NodeSummary } from "./tables/node-summary.ts";
import type { PodRow } from "./tables/pod-row.ts";
import { oneLine } from "./text.ts";

/** State that was printed last. */
interface PrintedState {
  readonly node: string;
  /** By `namespace/name`. */
  readonly pods: ReadonlyMap<string, string>;
}

/** Nothing printed yet. */
export const NOTHING_PRINTED: PrintedState = { node: "", pods: new Map() };

/** Lines for what changed since the last print, and what to remember. */
export function changeLines(
  before: PrintedState,
  node: NodeSummary | undefined,
  rows: readonly PodRow[],
): { readonly lines: readonly string[]; readonly printed: PrintedState } {
  const lines: string[] = [];
  const nodeNow = node === undefined ? "" : nodeText(node);
  if (nodeNow !== "" && nodeNow !== before.node) lines.push(nodeNow);
  const pods = new Map<string, string>();
  for (const row of rows) {
    const key = `${row.namespace}/${row.name}`;
    const text = podText(row);
    pods.set(key, text);
    if (before.pods.get(key) !== text) lines.push(`pod ${key}: ${text}`);
  }
  for (const key of before.pods.keys()) if (!pods.has(key)) lines.push(`pod ${key}: gone`);
  return { lines, printed: { node: nodeNow || before.node, pods } };
}

function nodeText({ name, ready, why, runtime }: NodeSummary): string {
  const state = ready ? "Ready" : `NotReady${why === "" ? "" : ` (${oneLine(why)})`}`;
  return `node ${oneLine(name)}: ${state}, ${runtime}`;
}

function podText({ status, ready, restarts, why }: PodRow): string {
  const count = restarts.split(" ")[0] ?? "0";
  const again = count === "0" ? "" : `, ${count} restarts`;
  return oneLine(`${status}, ${ready} ready${again}${why === "" ? "" : ` (${why})`}`);
}
