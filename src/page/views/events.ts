/** The events of the node and its pods, latest first. */
import { type ComponentChild, h } from "preact";
import type { CoreEvent } from "../../api/generated/types.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { eventTime } from "../../present/tables/event-row.ts";
import type { ViewProps } from "../store.ts";
import { Table, type TableColumn } from "./table.ts";

const COLUMNS: readonly TableColumn<CoreEvent>[] = [
  { title: "Age", value: (event) => humanDuration(Date.now() - eventTime(event)), align: "right" },
  {
    title: "Type",
    value: ({ type }) => type ?? "",
    style: ({ type }) => (type === "Warning" ? "yellow" : undefined),
  },
  { title: "Reason", value: ({ reason }) => reason ?? "" },
  {
    title: "Object",
    value: ({ involvedObject: { kind, namespace, name } }) =>
      `${(kind ?? "").toLowerCase()}/${namespace ? `${namespace}/` : ""}${name ?? ""}`,
  },
  { title: "Count", value: ({ count }) => String(count ?? 1), align: "right" },
  { title: "Message", value: ({ message }) => message ?? "" },
];

/** The view of all events. */
export function EventsTab({ state }: ViewProps): ComponentChild {
  return h(Table<CoreEvent>, {
    caption: "Events",
    columns: COLUMNS,
    rows: state.events.toSorted((a, b) => eventTime(b) - eventTime(a)),
    keyOf: ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
    empty: "No events.",
  });
}
