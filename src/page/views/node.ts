/** The node: its conditions, how far each eviction signal is from its threshold, and what the agent itself costs. */
import { type ComponentChild, h } from "preact";
import { humanDuration } from "../../api/text/human-duration.ts";
import { humanBytes } from "../../present/amounts.ts";
import type { ControlPlaneReport, Overview } from "../../present/shapes.ts";
import type { EvictionReport } from "../../subsystems/eviction/eviction.ts";
import { useData } from "../requests.ts";
import type { ViewProps } from "../store.ts";
import { AnswerBox } from "./answer.ts";
import { ControlPlaneSection } from "./control-plane.ts";
import { Pill } from "./pill.ts";
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
export function NodeTab({ state }: ViewProps): ComponentChild {
  const overview = useData<Overview>("overview", EVERY_MS);
  const controlPlane = useData<ControlPlaneReport>("control-plane", EVERY_MS);
  const eviction = useData<EvictionReport>("eviction", EVERY_MS);
  return [
    h(AnswerBox<Overview>, { answer: overview, show: overviewOf }),
    h(AnswerBox<ControlPlaneReport>, {
      answer: controlPlane,
      show: (report) => h(ControlPlaneSection, { report, pods: state.pods }),
    }),
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

function overviewOf(overview: Overview): ComponentChild {
  const { conditions, allocatable, capacity } = overview;
  return [
    h("h2", null, "Conditions"),
    h(
      "ul",
      { class: "conditions" },
      conditions.map(({ type, status, message }) =>
        h(
          "li",
          { key: type },
          h(Pill, { text: type, style: status === "True" ? "green" : "red" }),
          h("span", null, message === "" ? "as it should be" : message),
        ),
      ),
    ),
    h("h2", null, "Resources"),
    h(
      "dl",
      { class: "facts" },
      factsOf({
        "CPUs for pods": `${allocatable.cpuMilli / MILLI} of ${capacity.cpuMilli / MILLI}`,
        "Memory for pods": `${humanBytes(allocatable.memoryBytes)} of ${humanBytes(capacity.memoryBytes)}`,
        "Disk for pods": `${humanBytes(allocatable.ephemeralStorageBytes)} of ${humanBytes(capacity.ephemeralStorageBytes)}`,
        Pods: `${overview.pods.total} of ${allocatable.pods}`,
        "Running containers": String(overview.containersRunning),
        "Bad manifests": String(overview.problems),
      }),
    ),
    h("h2", null, "What the agent itself uses"),
    h("dl", { class: "facts" }, factsOf(costOf(overview))),
  ];
}

const MILLI = 1_000;

function costOf({ agent, startedAtMs }: Overview): Readonly<Record<string, string>> {
  const seconds = Math.max(1, (Date.now() - startedAtMs) / 1000);
  return {
    "CPU since its start": `${((agent.cpuSeconds / seconds) * MILLI).toFixed(1)} millicores`,
    Memory: `${humanBytes(agent.residentBytes)} resident`,
    "Event loop delay, p99": `${(agent.loopDelayP99Seconds * MILLI).toFixed(0)} ms`,
  };
}

function factsOf(facts: Readonly<Record<string, string>>): ComponentChild {
  return Object.entries(facts).map(([title, value]) =>
    h("div", { key: title }, h("dt", null, title), h("dd", null, value)),
  );
}
