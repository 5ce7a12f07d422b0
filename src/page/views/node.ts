/** The node: its conditions, how far each eviction signal is from its threshold, and what the agent itself costs. */
import { type ComponentChild, h } from "preact";
import { humanDuration } from "../../api/text/human-duration.ts";
import type { Overview } from "../../cli/client/shapes.ts";
import { humanBytes } from "../../cli/render/amounts.ts";
import type { EvictionReport } from "../../subsystems/eviction/eviction.ts";
import { useData } from "../requests.ts";
import { AnswerBox } from "./answer.ts";
import { Table, type TableColumn } from "./table.ts";

const EVERY_MS = 10_000;

type Signal = EvictionReport["signals"][number];

const SIGNALS: readonly TableColumn<Signal>[] = [
  { title: "Signal", value: ({ signal, kind }) => `${signal} (${kind})` },
  { title: "Available", value: ({ available }) => available ?? "not measured", align: "right" },
  { title: "Threshold", value: ({ threshold }) => threshold ?? "", align: "right" },
  { title: "Of", value: ({ capacity }) => capacity ?? "", align: "right" },
  {
    title: "Met",
    value: ({ metInMs, state }) =>
      metInMs === undefined ? state : `in ${humanDuration(metInMs)} at the present rate`,
    style: ({ metInMs }) => (metInMs === undefined ? undefined : "yellow"),
  },
];

/** The view of the node. */
export function NodeTab(): ComponentChild {
  const overview = useData<Overview>("overview", EVERY_MS);
  const eviction = useData<EvictionReport>("eviction", EVERY_MS);
  return [
    h(AnswerBox<Overview>, { answer: overview, show: overviewOf }),
    h(AnswerBox<EvictionReport>, {
      answer: eviction,
      show: ({ signals }) =>
        h(Table<Signal>, {
          caption: "Eviction signals",
          columns: SIGNALS,
          rows: signals,
          keyOf: ({ signal, kind }) => `${signal} ${kind}`,
          empty: "No eviction threshold is set.",
        }),
    }),
  ];
}

function overviewOf({ conditions, agent, startedAtMs, allocatable }: Overview): ComponentChild {
  const seconds = Math.max(1, (Date.now() - startedAtMs) / 1000);
  return [
    h(
      "ul",
      { class: "conditions" },
      conditions.map(({ type, status, message }) =>
        h(
          "li",
          { key: type },
          h("span", { class: `badge ${status === "True" ? "good" : "bad"}` }, type),
          message,
        ),
      ),
    ),
    h(
      "p",
      null,
      `Allocatable: ${allocatable.cpuMilli / 1000} CPUs, ${humanBytes(allocatable.memoryBytes)} of memory, ${allocatable.pods} pods.`,
    ),
    h(
      "p",
      null,
      `The agent: ${humanBytes(agent.residentBytes)} resident, ${((agent.cpuSeconds / seconds) * 1000).toFixed(1)} millicores on average, ` +
        `event loop late by ${(agent.loopDelayP99Seconds * 1000).toFixed(0)} ms (p99).`,
    ),
  ];
}
