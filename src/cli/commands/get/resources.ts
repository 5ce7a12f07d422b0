/** Resources that `get` lists. */
import type { CoreEvent, CoreEventList, Pod, PodList } from "../../../api/generated/types.ts";
import { podDisplayName } from "../../../api/pod/pod.ts";
import type { AgentClient } from "../../../client/agent-client.ts";
import { requestControlPlane } from "../../../client/control-plane.ts";
import { requestSignals } from "../../../client/eviction-signals.ts";
import { CONTROL_PLANE_COLUMNS } from "../../../present/control-plane/control-plane-table.ts";
import type { PartVerdict } from "../../../present/control-plane/judge-control-plane.ts";
import { nodeObject } from "../../../present/describe/node-object.ts";
import { renderSignals } from "../../../present/eviction-report.ts";
import { problemText } from "../../../present/problem/pod-problem.ts";
import type {
  CpuReport,
  NodeChange,
  Overview,
  ProbeReport,
  ProbesReply,
  Problem,
  ProblemsReply,
  ReportedCpu,
} from "../../../present/shapes.ts";
import { cpuSummary, renderCpus } from "../../../present/tables/cpu-table.ts";
import { EVENT_COLUMNS, eventRow, eventTime } from "../../../present/tables/event-row.ts";
import { NODE_COLUMNS } from "../../../present/tables/node-table.ts";
import { podRow } from "../../../present/tables/pod-row.ts";
import { podColumns } from "../../../present/tables/pod-table.ts";
import { PROBE_COLUMNS } from "../../../present/tables/probe-table.ts";
import { type Column, renderTable, type TableOptions } from "../../../present/tables/table.ts";
import { plainPaint } from "../../../present/text.ts";

/** One thing in a list. */
export interface ResourceRow {
  readonly namespace: string;
  readonly name: string;
  /** Another name it goes by; `undefined` for most. */
  readonly alias?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As `-o json` shows it. */
  readonly object: unknown;
}

/** How a table of rows is shown. */
interface TableView extends TableOptions {
  readonly allNamespaces: boolean;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A kind of things that can be listed. */
export interface ListedResource {
  /** Names on the command line: plural, singular, short. */
  readonly words: readonly [string, ...string[]];
  /** For `-o name`. */
  readonly kind: string;
  readonly namespaced: boolean;
  fetch(client: AgentClient): Promise<readonly ResourceRow[]>;
  /** The row of a change; absent where changes are not published. */
  readonly ofChange?: (change: NodeChange) => ResourceRow | undefined;
  table(rows: readonly ResourceRow[], view: TableView): readonly string[];
  /** What lists for programs say of all of it, beside the items. */
  readonly about?: (rows: readonly ResourceRow[]) => object;
  /** Lines below the table; omitted in output for programs. */
  below?(client: AgentClient, view: TableView): Promise<readonly string[]>;
}

const PODS: ListedResource = {
  words: ["pods", "pod", "po"],
  kind: "pod",
  namespaced: true,
  fetch: async (client) => (await client.json<PodList>("/nodelet/v1/pods")).items.map(podAsRow),
  ofChange: (change) => (change.kind === "pod" ? podAsRow(change.pod) : undefined),
  table: (rows, view) =>
    renderTable(
      podColumns(view.allNamespaces),
      rows.map(({ object }) => podRow(object as Pod, view.now)),
      view,
    ),
};

const NODES: ListedResource = {
  words: ["nodes", "node", "no"],
  kind: "node",
  namespaced: false,
  fetch: async (client) => [nodeAsRow(await client.json<Overview>("/nodelet/v1/overview"))],
  ofChange: (change) => (change.kind === "overview" ? nodeAsRow(change.overview) : undefined),
  table: (rows, view) =>
    renderTable(
      NODE_COLUMNS,
      rows.map(({ object }) => ({ node: object as ReturnType<typeof nodeObject>, now: view.now })),
      view,
    ),
  below: async (client, { paint = plainPaint }) => {
    const signals = renderSignals(await requestSignals(client), paint);
    const parts = await requestControlPlane(client);
    const controlPlane =
      parts.length === 0 ? [] : renderTable(CONTROL_PLANE_COLUMNS, parts, { paint });
    return [signals, controlPlane].flatMap((lines) => (lines.length === 0 ? [] : ["", ...lines]));
  },
};

const EVENTS: ListedResource = {
  words: ["events", "event", "ev"],
  kind: "event",
  namespaced: true,
  fetch: async (client) => {
    const { items } = await client.json<CoreEventList>("/nodelet/v1/events");
    return items.toSorted((a, b) => eventTime(a) - eventTime(b)).map(eventAsRow);
  },
  ofChange: (change) => (change.kind === "event" ? eventAsRow(change.event) : undefined),
  table: (rows, view) => {
    const namespace = { title: "NAMESPACE", value: (row: { namespace: string }) => row.namespace };
    return renderTable(
      [...(view.allNamespaces ? [namespace] : []), ...EVENT_COLUMNS],
      rows.map(({ object }) => eventRow(object as CoreEvent, view.now)),
      view,
    );
  },
};

const PROBES: ListedResource = {
  words: ["probes", "probe"],
  kind: "probe",
  namespaced: true,
  fetch: async (client) =>
    (await client.json<ProbesReply>("/nodelet/v1/probes")).items.map((probe) => ({
      namespace: probe.namespace,
      name: probe.podName,
      labels: {},
      object: probe,
    })),
  table: (rows, view) =>
    renderTable(
      PROBE_COLUMNS,
      rows.map(({ object }) => ({ probe: object as ProbeReport, now: view.now })),
      view,
    ),
};

const PROBLEM_COLUMNS: readonly Column<Problem>[] = [
  { title: "OF", value: ({ origin }) => origin },
  { title: "PROBLEM", value: ({ message }) => message },
];

const PROBLEMS: ListedResource = {
  words: ["problems", "problem"],
  kind: "problem",
  namespaced: false,
  fetch: async (client) => {
    const { items: manifests } = await client.json<ProblemsReply>("/nodelet/v1/problems");
    const { items: pods } = await client.json<PodList>("/nodelet/v1/pods");
    return [...manifests, ...pods.flatMap(problemOfPod)].map((problem) => ({
      namespace: "",
      name: problem.origin,
      labels: {},
      object: problem,
    }));
  },
  table: (rows, view) =>
    renderTable(
      PROBLEM_COLUMNS,
      rows.map(({ object }) => object as Problem),
      view,
    ),
};

/** The report stands in each row, so that all that is shown is of one moment. */
interface CpuRow extends ResourceRow {
  readonly report: CpuReport;
  readonly object: ReportedCpu;
}

const CPUS: ListedResource = {
  words: ["cpus", "cpu"],
  kind: "cpu",
  namespaced: false,
  fetch: async (client) => {
    const report = await client.json<CpuReport>("/nodelet/v1/cpus");
    return report.cpus.map((cpu): CpuRow => {
      const name = `${cpu.id}`;
      return { namespace: "", name, labels: {}, object: cpu, report };
    });
  },
  about: (rows) => {
    const { cpus: _, ...about } = (rows[0] as CpuRow).report;
    return about;
  },
  table: (rows, view) => {
    const { report } = rows[0] as CpuRow;
    const cpus = rows.map(({ object }) => object as ReportedCpu);
    return [...renderCpus(cpus, view), ...(view.headers ? ["", ...cpuSummary(report)] : [])];
  },
};

const CONTROL_PLANE: ListedResource = {
  words: ["control-plane", "controlplane", "cp"],
  kind: "controlplanepart",
  namespaced: false,
  fetch: async (client) =>
    (await requestControlPlane(client)).map((verdict) => ({
      namespace: "",
      name: verdict.name,
      labels: {},
      object: verdict,
    })),
  table: (rows, view) =>
    renderTable(
      CONTROL_PLANE_COLUMNS,
      rows.map(({ object }) => object as PartVerdict),
      view,
    ),
};

/** All that can be listed. */
export const RESOURCES: readonly ListedResource[] = [
  PODS,
  NODES,
  EVENTS,
  PROBES,
  PROBLEMS,
  CPUS,
  CONTROL_PLANE,
];

/** The kind that a word names. */
export function findResource(word: string): ListedResource | undefined {
  return RESOURCES.find(({ words }) => words.includes(word.toLowerCase()));
}

/** Problems of a pod, listed like invalid manifests. */
function problemOfPod(pod: Pod): readonly Problem[] {
  const message = problemText(pod);
  return message === "" ? [] : [{ origin: `pod/${podDisplayName(pod)}`, message }];
}

function podAsRow(pod: Pod): ResourceRow {
  const { namespace = "", name = "", labels = {} } = pod.metadata ?? {};
  const suffix = `-${pod.spec?.nodeName ?? ""}`;
  const alias = name.endsWith(suffix) ? { alias: name.slice(0, -suffix.length) } : {};
  return { namespace, name, labels, ...alias, object: withKind(pod, "Pod") };
}

function nodeAsRow(overview: Overview): ResourceRow {
  const object = nodeObject(overview);
  return { namespace: "", name: overview.node, labels: object.metadata?.labels ?? {}, object };
}

function eventAsRow(event: CoreEvent): ResourceRow {
  const { namespace = "", name = "", labels = {} } = event.metadata;
  return { namespace, name, labels, object: withKind(event, "Event") };
}

/** Objects in lists have no apiVersion and kind; single objects begin with them. */
function withKind<T extends object>(object: T, kind: string): T {
  return { apiVersion: "v1", kind, ...object };
}
