/** One pod: what blocks it now, and all that happened on one time axis. */
import { type ComponentChild, h } from "preact";
import { isChosen, parseEventChoice } from "../../api/event-choice.ts";
import type { ContainerStatus, CoreEvent, Pod } from "../../api/generated/types.ts";
import type { DecisionList, ProbesReply } from "../../present/shapes.ts";
import { eventTime } from "../../present/tables/event-row.ts";
import { type PodRow, podRow } from "../../present/tables/pod-row.ts";
import { storyOf } from "../../present/why/why.ts";
import { useData } from "../requests.ts";
import type { ShownNode } from "../store.ts";
import { Pill } from "./pill.ts";
import { ProbeStrips } from "./strips.ts";
import { Table, type TableColumn } from "./table.ts";
import { Timeline, type TimelineEntry } from "./timeline.ts";

const PROBES_MS = 3_000;
const DECISIONS_MS = 10_000;
const MAX_DECISIONS = 300;

/** The view of one pod by `namespace/name`. */
export function PodTab({
  state,
  name,
}: {
  readonly state: ShownNode;
  readonly name: string;
}): ComponentChild {
  const pod = [...state.pods.values()].find(
    ({ metadata }) => `${metadata?.namespace}/${metadata?.name}` === name,
  );
  const choice = parseEventChoice(`pod/${name}`);
  const events = choice ? state.events.filter((event) => isChosen(event, choice)) : [];
  const query = new URLSearchParams({ pod: name, limit: String(MAX_DECISIONS) });
  // Every decision changes the pod's status or records an event.
  const version = `${events.length} ${JSON.stringify(pod?.status)}`;
  const decisions = useData<DecisionList>(`decisions?${query}`, DECISIONS_MS, version);
  const probes = useData<ProbesReply>(`probes?pod=${encodeURIComponent(name)}`, PROBES_MS);
  const reports = probes.kind === "loaded" ? probes.value.items : [];
  const entries = [
    ...(decisions.kind === "loaded" ? decisionEntries(decisions.value) : []),
    ...events.map(eventEntry),
    ...reports.flatMap(probeEntries),
  ];
  const row = pod && podRow(pod, Date.now());
  return [
    h(
      "div",
      { class: "title" },
      h("h2", null, name),
      row && h(Pill, { text: row.status, style: row.style }),
    ),
    row
      ? h(Facts, { row })
      : h(
          "p",
          { class: "note warn" },
          "This pod is not on the node now; what is known of it stands below.",
        ),
    row && row.why !== "" && h("p", { class: "note warn now" }, row.why),
    pod && h(Containers, { pod }),
    h(ProbeStrips, { reports }),
    decisions.kind === "failed" && h("p", { class: "bad" }, decisions.message),
    h(Timeline, { entries }),
    h("p", { class: "command" }, "The same on the node: ", h("code", null, `nodelet why ${name}`)),
  ];
}

function Facts({ row }: { readonly row: PodRow }): ComponentChild {
  const { status } = row.pod;
  const facts = [
    ["Ready", row.ready],
    ["Restarts", row.restarts],
    ["Age", row.age],
    ["Pod IP", row.ip === "<none>" ? "none" : row.ip],
    ["QoS class", status?.qosClass ?? "unknown"],
  ];
  return h(
    "dl",
    { class: "facts" },
    facts.map(([title, value]) =>
      h("div", { key: title }, h("dt", null, title), h("dd", null, value)),
    ),
  );
}

const CONTAINERS: readonly TableColumn<ContainerStatus>[] = [
  { title: "Container", value: ({ name }) => name },
  {
    title: "State",
    value: ({ state }) => stateOf(state),
    style: ({ state, ready }) =>
      state?.running
        ? ready
          ? "green"
          : "yellow"
        : state?.terminated?.exitCode === 0
          ? "dim"
          : "red",
  },
  { title: "Last state", value: ({ lastState }) => stateOf(lastState) },
  { title: "Restarts", value: ({ restartCount }) => String(restartCount), align: "right" },
  { title: "Image", value: ({ image }) => h("code", null, image) },
];

function Containers({ pod: { status } }: { readonly pod: Pod }): ComponentChild {
  const rows = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  if (rows.length === 0) return null;
  return h(Table<ContainerStatus>, {
    caption: "Containers",
    columns: CONTAINERS,
    rows,
    keyOf: ({ name }) => name,
    empty: "",
  });
}

/** `running`, `waiting: CrashLoopBackOff`, `terminated: Error, exit code 1`. */
function stateOf(state: ContainerStatus["state"]): string {
  if (state?.running) return "running";
  if (state?.waiting) return `waiting${state.waiting.reason ? `: ${state.waiting.reason}` : ""}`;
  if (!state?.terminated) return "–";
  const { reason = "", exitCode } = state.terminated;
  return `terminated${reason === "" ? "" : `: ${reason}`}, exit code ${exitCode}`;
}

function decisionEntries({ items }: DecisionList): readonly TimelineEntry[] {
  return storyOf(items).map(({ atMs, title, text, times, hasOutcome }) => ({
    atMs,
    lane: hasOutcome ? "outcome" : "decision",
    title,
    text: times > 1 ? `${text} (${times} times)` : text,
  }));
}

function eventEntry(event: CoreEvent): TimelineEntry {
  return {
    atMs: eventTime(event),
    lane: "event",
    title: event.reason ?? "",
    text: event.message ?? "",
    isWarning: event.type === "Warning",
  };
}

/** Probes that changed their mind; the rest stands in the strips. */
function probeEntries({
  kind,
  container,
  history,
}: ProbesReply["items"][number]): readonly TimelineEntry[] {
  return history.flatMap(({ atMs, result, output }, at) =>
    history[at - 1]?.result === result
      ? []
      : [
          {
            atMs,
            lane: "probe" as const,
            title: `${kind} ${result}`,
            text: result === "success" || output === "" ? container : `${container}: ${output}`,
            isWarning: result !== "success",
          },
        ],
  );
}
