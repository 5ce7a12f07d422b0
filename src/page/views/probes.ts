/** All probes of the node with their strips. */
import { type ComponentChild, h } from "preact";
import type { ProbeReport, ProbesReply } from "../../present/shapes.ts";
import { useData } from "../requests.ts";
import { AnswerBox } from "./answer.ts";
import { podHref } from "./links.ts";
import { probeKey, Strip } from "./strips.ts";
import { Table, type TableColumn } from "./table.ts";

const EVERY_MS = 3_000;

const COLUMNS: readonly TableColumn<ProbeReport>[] = [
  {
    title: "Pod",
    value: ({ namespace, podName }) =>
      h("a", { href: podHref(namespace, podName) }, `${namespace}/${podName}`),
  },
  { title: "Container", value: ({ container }) => container },
  { title: "Probe", value: ({ kind, handler }) => `${kind} ${handler}` },
  {
    title: "Result",
    value: ({ verdict }) => verdict ?? "none yet",
    style: ({ verdict }) =>
      verdict === "success" ? "green" : verdict === "failure" ? "red" : "dim",
  },
  { title: "Attempts", value: (report) => h(Strip, { report }) },
];

/** The view of all probes. */
export function ProbesTab(): ComponentChild {
  const answer = useData<ProbesReply>("probes", EVERY_MS);
  return h(AnswerBox<ProbesReply>, {
    answer,
    show: ({ items }) =>
      h(Table<ProbeReport>, {
        caption: "Probes",
        columns: COLUMNS,
        rows: items,
        keyOf: probeKey,
        empty: "No pod on this node has probes.",
      }),
  });
}
