/** The cgroup tree: what is requested, allowed and used, and what differs from the configuration. */
import { type ComponentChild, h } from "preact";
import { humanBytes } from "../../present/amounts.ts";
import type { ReportedValue } from "../../subsystems/cgroups/cgroups.ts";
import { useData } from "../requests.ts";
import type { ViewProps } from "../store.ts";
import { AnswerBox } from "./answer.ts";
import { type CgroupRow, cgroupRows, type MeasuredCgroups } from "./cgroup-rows.ts";
import { podHref } from "./links.ts";
import { Meter } from "./meter.ts";
import { Table, type TableColumn } from "./table.ts";

const EVERY_MS = 10_000;
/** A CPU has so many thousandths. */
const MILLI = 1_000;
const MAX_LEVEL = 4;

/** `250m`, `1.5 CPUs`. */
function shownCpu(milli: number): string {
  if (milli < MILLI) return `${Number(milli.toFixed(milli < 10 ? 1 : 0))}m`;
  const cpus = Number((milli / MILLI).toFixed(2));
  return `${cpus} CPU${cpus === 1 ? "" : "s"}`;
}

const COLUMNS: readonly TableColumn<CgroupRow>[] = [
  { title: "Group", value: nameOf },
  {
    title: "CPU",
    value: ({ title, use, requested, enforced }) =>
      h(Meter, {
        label: `CPU of ${title}`,
        used: use?.cpuMilli,
        requested: requested?.cpuMilli,
        limit: enforced.cpuMilli,
        show: shownCpu,
      }),
  },
  {
    title: "Memory",
    value: ({ title, use, requested, enforced }) =>
      h(Meter, {
        label: `Memory of ${title}`,
        used: use?.memoryBytes,
        requested: requested?.memoryBytes,
        limit: enforced.memoryBytes,
        show: humanBytes,
      }),
  },
  {
    title: "PIDs",
    value: ({ title, use, enforced }) =>
      h(Meter, {
        label: `PIDs of ${title}`,
        used: use?.tasks,
        limit: enforced.tasks,
        show: String,
      }),
  },
];

function nameOf({ group, level, title, drift }: CgroupRow): ComponentChild {
  const { kind, pod = "", path, exists } = group;
  const [namespace = "", name = ""] = pod.split("/");
  return h(
    "div",
    { class: `level-${Math.min(MAX_LEVEL, level)}`, title: path },
    kind === "pod" ? h("a", { href: podHref(namespace, name) }, title) : h("span", null, title),
    kind !== "container" && kind !== "pod" && h("code", { class: "path" }, path),
    !exists && h("span", { class: "badge bad" }, "missing"),
    drift > 0 && h("span", { class: "badge warn" }, `${drift} drifted`),
  );
}

/** The view of cgroups. */
export function CgroupsTab({ state }: ViewProps): ComponentChild {
  const answer = useData<MeasuredCgroups>("cgroups?usage=true", EVERY_MS);
  return h(AnswerBox<MeasuredCgroups>, {
    answer,
    show: (report) => [
      h(Drift, { report }),
      h(
        "p",
        { class: "legend" },
        h("span", { class: "key fill" }),
        "used",
        h("span", { class: "key requested" }),
        "requested by pods",
        h("span", { class: "key track" }),
        "up to the limit in the kernel; without a limit the bar is open at its end",
      ),
      h(Table<CgroupRow>, {
        caption: `Cgroup v${report.version}, driver ${report.driver}`,
        columns: COLUMNS,
        rows: cgroupRows(report, [...state.pods.values()]),
        keyOf: ({ group }) => group.path,
        empty: "The agent has no cgroups of its own (cgroupsPerQOS is off).",
      }),
    ],
  });
}

interface DriftRow extends ReportedValue {
  readonly path: string;
}

const WRITERS: Readonly<Record<ReportedValue["state"], string>> = {
  same: "",
  differs: "the agent, with its next pass",
  foreign: "nobody by itself: another program has set it",
  runtime: "the container runtime, when the container restarts",
};

const DRIFT_COLUMNS: readonly TableColumn<DriftRow>[] = [
  { title: "Group", value: ({ path }) => h("code", null, path) },
  { title: "File", value: ({ file }) => h("code", null, file) },
  { title: "In the kernel", value: ({ found }) => found ?? "missing", style: () => "yellow" },
  { title: "Configured", value: ({ wanted }) => wanted },
  { title: "Corrected by", value: ({ state }) => WRITERS[state] },
];

function Drift({
  report: { groups, differences },
}: {
  readonly report: MeasuredCgroups;
}): ComponentChild {
  if (differences === 0)
    return h("p", { class: "note good" }, "No drift: the kernel has every value as configured.");
  const rows = groups.flatMap(({ path, values }) =>
    values.filter(({ state }) => state !== "same").map((value) => ({ path, ...value })),
  );
  return h(
    "section",
    { class: "card", "aria-label": "Drift" },
    h("h2", null, `Drift: ${differences} value${differences === 1 ? "" : "s"}`),
    h(Table<DriftRow>, {
      caption: "Values in the kernel that are not as configured",
      columns: DRIFT_COLUMNS,
      rows,
      keyOf: ({ path, file }) => `${path} ${file}`,
      empty: "",
    }),
    h("p", { class: "command" }, "To write them all: ", h("code", null, "nodelet cgroups --fix")),
  );
}
