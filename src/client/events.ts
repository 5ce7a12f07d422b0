/** Events of the node: from the agent, or from the history on disk when none runs. */

import { type EventChoice, isChosen } from "../api/event-choice.ts";
import type { CoreEvent, CoreEventList } from "../api/generated/types.ts";
import { rfc3339Micro } from "../api/text/timestamps.ts";
import type { WallMs } from "../kit/clock.ts";
import { appendAll } from "../kit/limits/lists.ts";
import { silentLog } from "../kit/log.ts";
import { StateFiles } from "../kit/state/state-files.ts";
import { connectMachine } from "../outside/connect.ts";
import { eventTime } from "../present/tables/event-row.ts";
import { readEventHistory } from "../subsystems/events/events.ts";
import type { AgentClient } from "./agent-client.ts";

/** Which events to show; all given criteria must match. */
export interface EventFilter {
  readonly choice: EventChoice | undefined;
  readonly namespace: string | undefined;
  /** Happened at or after this time, Unix milliseconds. */
  readonly sinceMs: number | undefined;
  /** The newest so many. */
  readonly limit: number;
}

/** Events that the agent keeps in memory and on disk, the one that happened last at the end. */
export async function requestEvents(
  client: AgentClient,
  { choice, namespace, sinceMs, limit }: EventFilter,
): Promise<readonly CoreEvent[]> {
  const query = new URLSearchParams({ history: "true", limit: String(limit) });
  if (choice !== undefined) query.set("for", choiceText(choice));
  if (namespace !== undefined) query.set("namespace", namespace);
  if (sinceMs !== undefined) query.set("since", rfc3339Micro(sinceMs as WallMs));
  const { items } = await client.json<CoreEventList>(`/nodelet/v1/events?${query}`);
  return items;
}

/** The folder where an agent keeps its history of events, below its `--root-dir`. */
function eventFolder(rootFolder: string): string {
  return `${rootFolder}/nodelet/events`;
}

/** The same from the histories below `rootFolders`, of agents that do not run any more. */
export async function readEvents(
  rootFolders: readonly string[],
  filter: EventFilter,
): Promise<readonly CoreEvent[]> {
  const { clock, host } = connectMachine(silentLog);
  const { sinceMs, limit } = filter;
  const query = {
    filter: (event: CoreEvent) => matchesFilter(event, filter),
    ...(sinceMs === undefined ? {} : { sinceMs }),
  };
  const state = new StateFiles({ files: host.files, clock, log: silentLog });
  const found: CoreEvent[] = [];
  for (const folder of rootFolders.map(eventFolder))
    appendAll(found, await readEventHistory(folder, query, { state, clock }));
  const sorted =
    rootFolders.length > 1 ? found.toSorted((a, b) => eventTime(a) - eventTime(b)) : found;
  return sorted.slice(-limit);
}

/** Whether an event matches; its time is ignored. */
export function matchesFilter(
  event: CoreEvent,
  { choice, namespace }: Pick<EventFilter, "choice" | "namespace">,
): boolean {
  return (
    (choice === undefined || isChosen(event, choice)) &&
    (namespace === undefined || event.metadata.namespace === namespace)
  );
}

function choiceText(choice: EventChoice): string {
  if (choice.kind === "node") return "node";
  const { namespace, name } = choice;
  return namespace === undefined ? `pod/${name}` : `pod/${namespace}/${name}`;
}
