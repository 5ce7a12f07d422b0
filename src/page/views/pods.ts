/** All pods, with what is wrong with each. */
import { type ComponentChild, h } from "preact";
import { type PodRow, podRow } from "../../cli/render/tables/pod-row.ts";
import type { ViewProps } from "../store.ts";
import { podHref } from "./links.ts";
import { Table, type TableColumn } from "./table.ts";

const COLUMNS: readonly TableColumn<PodRow>[] = [
  { title: "Namespace", value: ({ namespace }) => namespace },
  {
    title: "Name",
    value: ({ namespace, name }) => h("a", { href: podHref(namespace, name) }, name),
  },
  { title: "Ready", value: ({ ready }) => ready },
  { title: "Status", value: ({ status }) => status, style: ({ style }) => style },
  { title: "Restarts", value: ({ restarts }) => restarts, align: "right" },
  { title: "Age", value: ({ age }) => age, align: "right" },
  { title: "Why", value: ({ why }) => why },
];

/** The view of all pods; those that need attention first. */
export function PodsTab({ state }: ViewProps): ComponentChild {
  const now = Date.now();
  const rows = [...state.pods.values()].map((pod) => podRow(pod, now)).toSorted(byNeed);
  return h(Table<PodRow>, {
    caption: "Pods",
    columns: COLUMNS,
    rows,
    keyOf: ({ pod }) => pod.metadata?.uid ?? "",
    empty: "No pods on this node.",
  });
}

function byNeed(a: PodRow, b: PodRow): number {
  const need = ({ why }: PodRow) => (why === "" ? 1 : 0);
  if (need(a) !== need(b)) return need(a) - need(b);
  const [left, right] = [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`];
  return left < right ? -1 : Number(left > right);
}
