/** Decisions about pods: from the agent, or from the journal on disk when none runs. */

import { existsSync } from "node:fs";
import type { Decision, DecisionRecord } from "../api/decisions.ts";
import { appendAll } from "../kit/limits/lists.ts";
import { silentLog } from "../kit/log.ts";
import { StateFiles } from "../kit/state/state-files.ts";
import { connectMachine } from "../outside/connect.ts";
import type { DecisionList } from "../present/shapes.ts";
import { Journal } from "../subsystems/journal/journal.ts";
import type { AgentClient } from "./agent-client.ts";
import type { PodReference } from "./pick-pod.ts";

/** Largest segment that is read; the agent begins new ones far below. */
const SEGMENT_BYTES = 16 * 1024 * 1024;
/** Removing segments is left to the agent. */
const KEPT = { segmentBytes: SEGMENT_BYTES, segments: Number.MAX_SAFE_INTEGER };

/** Requests the agent's decisions about a pod, oldest first. */
export async function requestDecisions(
  client: AgentClient,
  { namespace, name }: PodReference,
  limit: number,
): Promise<readonly DecisionRecord[]> {
  const query = new URLSearchParams({ pod: `${namespace}/${name}`, limit: String(limit) });
  const { items } = await client.json<DecisionList>(`/nodelet/v1/decisions?${query}`);
  return items;
}

/** Keeps a decision on the node in the journal below `rootFolder`, of an agent that does not run. */
export async function recordOnDisk(
  rootFolder: string,
  nodeName: string,
  decision: Decision,
): Promise<void> {
  const { clock, host } = connectMachine(silentLog);
  const state = new StateFiles({ files: host.files, clock, log: silentLog });
  const journal = new Journal({ folder: journalFolder(rootFolder), ...KEPT }, { state, clock });
  await journal.open();
  journal.record({ kind: "node", name: nodeName }, decision);
  await journal.flush();
}

/** The folders where agents keep their journals, below their `--root-dir`. */
function journalFolder(rootFolder: string): string {
  return `${rootFolder}/nodelet/journal`;
}

/**
 * Reads decisions about pods by agents that no longer run, oldest first: all entries of the
 * journals below `rootFolders`.
 */
export async function readDecisions(
  rootFolders: readonly string[],
  limit: number,
): Promise<readonly DecisionRecord[]> {
  const { clock, host } = connectMachine(silentLog);
  const state = new StateFiles({ files: host.files, clock, log: silentLog });
  const found: DecisionRecord[] = [];
  for (const folder of rootFolders.map(journalFolder)) {
    if (!existsSync(folder)) continue;
    appendAll(found, await new Journal({ folder, ...KEPT }, { state, clock }).read({}));
  }
  return found.toSorted((a, b) => a.atMs - b.atMs || a.sequence - b.sequence).slice(-limit);
}
