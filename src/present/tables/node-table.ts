// pure
import type { Node } from "../../api/generated/types.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import type { Column } from "./table.ts";

/** A node in a table at `now`, Unix milliseconds. */
interface NodeRow {
  readonly node: Node;
  readonly now: number;
}

/** Columns of a table of nodes; the age is that of its agent. */
export const NODE_COLUMNS: readonly Column<NodeRow>[] = [
  { title: "NAME", value: ({ node }) => node.metadata?.name ?? "" },
  {
    title: "STATUS",
    value: ({ node }) => (isNodeReady(node) ? "Ready" : "NotReady"),
    style: ({ node }) => (isNodeReady(node) ? "green" : "red"),
  },
  {
    title: "AGE",
    value: ({ node, now }) => {
      const began = parseTimestamp(node.metadata?.creationTimestamp ?? "");
      return began === undefined ? "<unknown>" : humanDuration(now - began);
    },
  },
  { title: "VERSION", value: ({ node }) => node.status?.nodeInfo?.kubeletVersion ?? "" },
  {
    title: "INTERNAL-IP",
    value: ({ node }) =>
      node.status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "<none>",
    wide: true,
  },
  {
    title: "CONTAINER-RUNTIME",
    value: ({ node }) => node.status?.nodeInfo?.containerRuntimeVersion ?? "",
    wide: true,
  },
];

/** Whether a node's own condition says so. */
function isNodeReady(node: Node): boolean {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True";
}
