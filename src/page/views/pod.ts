/** One pod: what blocks it now, and all that happened on one time axis. */
import { type ComponentChild, h } from "preact";
import { isChosen, parseEventChoice } from "../../api/event-choice.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import type { Decisions, ProbesReply } from "../../cli/client/shapes.ts";
import { eventTime } from "../../cli/render/tables/event-row.ts";
import { podRow } from "../../cli/render/tables/pod-row.ts";
import { storyOf } from "../../cli/render/why/why.ts";
import { useData } from "../requests.ts";
import type { ShownNode } from "../store.ts";
import { ProbeStrips } from "./strips.ts";
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
  const decisions = useData<Decisions>(`decisions?${query}`, DECISIONS_MS, version);
  const probes = useData<ProbesReply>(`probes?pod=${encodeURIComponent(name)}`, PROBES_MS);
  const reports = probes.kind === "loaded" ? probes.value.items : [];
  const entries = [
    ...(decisions.kind === "loaded" ? decisionEntries(decisions.value) : []),
    ...events.map(eventEntry),
    ...reports.flatMap(probeEntries),
  ];
  const row = pod && podRow(pod, Date.now());
  return [
    h("h2", null, name),
    row
      ? h(
          "p",
          null,
          h("strong", null, row.status),
          `, ready ${row.ready}, restarts ${row.restarts}, age ${row.age}`,
        )
      : h("p", { class: "warn" }, "This pod is not on the node now."),
    row && row.why !== "" && h("p", { class: "now" }, row.why),
    h(ProbeStrips, { reports }),
    decisions.kind === "failed" && h("p", { class: "bad" }, decisions.message),
    h(Timeline, { entries }),
    h("p", { class: "command" }, "On the node: ", h("code", null, `nodelet why ${name}`)),
  ];
}

function decisionEntries({ items }: Decisions): readonly TimelineEntry[] {
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
