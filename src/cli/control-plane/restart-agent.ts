/** Starts the agent of a node of a cluster again, for what it reads only at its start. */
import type { UpPaths } from "../up/paths.ts";
import { endProcess } from "../up/processes.ts";
import { readSupervisor } from "../up/supervise/supervisor-note.ts";
import { clusterPaths } from "./places.ts";

const END_MS = 15_000;

/** Its supervisor starts it again; pods do not notice. */
export async function restartAgent(
  paths: UpPaths,
  why: string,
  print: (text: string) => void,
): Promise<void> {
  const agent = readSupervisor(clusterPaths(paths))?.agent;
  if (agent === undefined) return;
  print(`restarting the agent ${why}`);
  await endProcess(agent, END_MS);
}
