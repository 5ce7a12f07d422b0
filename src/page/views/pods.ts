/** All pods, with what is wrong with each. */
import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import { type PodRow, podRow } from "../../present/tables/pod-row.ts";
import type { ViewProps } from "../store.ts";
import { podHref } from "./links.ts";
import { Pill } from "./pill.ts";
import { Table, type TableColumn } from "./table.ts";

const COLUMNS: readonly TableColumn<PodRow>[] = [
  {
    title: "Pod",
    value: ({ namespace, name }) => [
      h("a", { href: podHref(namespace, name) }, name),
      h("span", { class: "dim under" }, namespace),
    ],
  },
  { title: "Status", value: ({ status, style }) => h(Pill, { text: status, style }) },
  { title: "Ready", value: ({ ready }) => ready, align: "right" },
  { title: "Restarts", value: ({ restarts }) => restarts, align: "right" },
  { title: "Age", value: ({ age }) => age, align: "right" },
  {
    title: "Why",
    value: ({ why }) =>
      why === "" ? h("span", { class: "dim" }, "as it should be") : h("span", null, why),
  },
];

/** The view of all pods; those that need attention first. */
export function PodsTab({ state }: ViewProps): ComponentChild {
  const [filter, setFilter] = useState("");
  const now = Date.now();
  const all = [...state.pods.values()].map((pod) => podRow(pod, now)).toSorted(byNeed);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = words.length === 0 ? all : all.filter((row) => matches(row, words));
  return [
    h(Summary, { rows: all }),
    all.length > 0 &&
      h(
        "label",
        { class: "filter" },
        "Filter",
        h("input", {
          type: "search",
          value: filter,
          placeholder: "name, namespace, status or reason",
          onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
            setFilter(currentTarget.value),
        }),
      ),
    h(Table<PodRow>, {
      caption: words.length === 0 ? "Pods" : `Pods: ${rows.length} of ${all.length}`,
      columns: COLUMNS,
      rows,
      keyOf: ({ pod }) => pod.metadata?.uid ?? "",
      empty:
        all.length > 0
          ? "No pod matches the filter."
          : "No pods on this node. Those of manifests in its folder, and those that are scheduled here, are listed as soon as the agent accepts them.",
    }),
  ];
}

/** How many pods run, need attention, or are done. */
function Summary({ rows }: { readonly rows: readonly PodRow[] }): ComponentChild {
  if (rows.length === 0) return null;
  const attention = rows.filter(({ why }) => why !== "").length;
  const running = rows.filter(({ status }) => status === "Running").length;
  const done = rows.filter(({ style }) => style === "dim").length;
  const tiles = [
    {
      count: attention,
      title: attention === 1 ? "needs attention" : "need attention",
      style: "bad",
    },
    { count: running, title: "running", style: "good" },
    { count: done, title: "completed", style: "dim" },
    { count: rows.length, title: rows.length === 1 ? "pod in all" : "pods in all", style: "" },
  ];
  return h(
    "ul",
    { class: "tiles", "aria-label": "Summary" },
    tiles.map(({ count, title, style }) =>
      h(
        "li",
        { key: title },
        h("strong", { class: count === 0 ? "dim" : style }, count),
        h("span", null, title),
      ),
    ),
  );
}

function matches({ namespace, name, status, why }: PodRow, words: readonly string[]): boolean {
  const text = `${namespace}/${name} ${status} ${why}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function byNeed(a: PodRow, b: PodRow): number {
  const need = ({ why }: PodRow) => (why === "" ? 1 : 0);
  if (need(a) !== need(b)) return need(a) - need(b);
  const [left, right] = [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`];
  return left < right ? -1 : Number(left > right);
}
