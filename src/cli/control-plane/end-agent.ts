import { mkdirSync } from "node:fs";
import { AgentClient } from "../../client/agent-client.ts";
import { CliError } from "../../present/cli-error.ts";
import type { UpPaths } from "../up/paths.ts";
import { endProcess } from "../up/processes.ts";
import {
  claimSupervisor,
  orphanedAgent,
  readSupervisor,
  refuseWhileStopping,
  type SupervisorClaim,
} from "../up/supervise/supervisor-note.ts";
import { stopNodeService } from "./node-service.ts";

const SUPERVISOR_MS = 20_000;

/**
 * Ends the agent that `up` keeps running. Throws `CliError` when there is one that `up` did not start, or when another
 * command is stopping the node.
 */
export async function endAgent(paths: UpPaths, print: (text: string) => void): Promise<void> {
  refuseWhileStopping(paths);
  // An agent that its supervisor could not end in time is left without one, and seen only then.
  const supervisor = () => readSupervisor(paths)?.supervisor;
  await stopNodeService(paths);
  for (const find of [supervisor, () => orphanedAgent(paths)]) {
    const mark = find();
    if (mark === undefined) continue;
    print("Stopping the agent");
    if (!(await endProcess(mark, SUPERVISOR_MS)))
      throw new CliError(`process ${mark.pid} did not exit`, { fix: `kill -9 ${mark.pid}` });
  }
  if (await new AgentClient(paths.agentSocket).answers()) {
    throw new CliError("a running agent was not started by nodelet up", {
      fix: "stop it with what started it (for example systemctl stop), then try again",
    });
  }
}

/**
 * Keeps `up` from starting anything while `command` takes the node apart; ends with `using`. Call it after `endAgent`,
 * where `up` has created something: the folder of sockets is created if a reboot has emptied it.
 */
export function claimStop(paths: UpPaths, command: "stop" | "down"): SupervisorClaim {
  mkdirSync(paths.runDir, { recursive: true, mode: 0o755 });
  return claimSupervisor(paths, command);
}
