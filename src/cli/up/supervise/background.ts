/** `up --detach`: agent and runtime are kept going by a process in the background. */
import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentClient } from "../../../client/agent-client.ts";
import { spokenDuration } from "../../../present/amounts.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_OK } from "../../../present/exit-codes.ts";
import { searchPath } from "../../../process/programs.ts";
import { writeLines } from "../../io.ts";
import { commandWord } from "../command-link.ts";
import { kubectlHint } from "../kubectl-hint.ts";
import { endOfLog, logTail } from "../log-tail.ts";
import type { UpPaths } from "../paths.ts";
import { isRunning, markOf, startDetached } from "../processes.ts";
import type { UpContext, UpRequest } from "../request.ts";
import { viewNode } from "./foreground.ts";

const POLL_MS = 100;

/** Starts the supervisor in the background and waits until its agent answers, or until all is ready. */
export async function goToBackground(request: UpRequest, context: UpContext): Promise<number> {
  const { paths, timeoutMs, untilReady } = request;
  const agentLogAt = endOfLog(paths.agentLog);
  const ownLogAt = endOfLog(paths.supervisorLog);
  const { pid } = startSupervisor(paths, context);
  const mark = pid === undefined ? undefined : markOf(pid);
  const client = new AgentClient(paths.agentSocket);
  const deadline = performance.now() + timeoutMs;
  while (!(await client.answers())) {
    if (mark === undefined || !isRunning(mark))
      throw new CliError("failed to start the agent", {
        fix: logTail(paths.agentLog, agentLogAt) || logTail(paths.supervisorLog, ownLogAt),
      });
    if (performance.now() > deadline) {
      throw new CliError(`the agent did not answer within ${spokenDuration(timeoutMs)}`, {
        fix: `its log: ${paths.agentLog}`,
      });
    }
    await sleep(POLL_MS);
  }
  if (untilReady) return await viewNode(request, context, "attached");
  const word = commandWord();
  const hint = kubectlHint(paths, request.agentFlags);
  writeLines(context.io.stdout, [
    "The agent is running in the background.",
    `  ${word} up           shows the node`,
    `  ${word} get pods     lists pods`,
    ...(hint === undefined ? [] : [`  ${hint}`]),
    `  ${word} down         stops everything and cleans up`,
  ]);
  return EXIT_OK;
}

/** Variables of that process. */
export function supervisorEnvironment(): Readonly<Record<string, string>> {
  return { PATH: searchPath(), HOME: "/root", NODELET_INVOKED_AS: "nodelet" };
}

/** Starts the process that keeps agent and runtime running; it outlives this one. */
export function startSupervisor(
  { supervisorLog }: Pick<UpPaths, "supervisorLog">,
  { backgroundArgv }: Pick<UpContext, "backgroundArgv">,
): ChildProcess {
  return startDetached({
    argv: backgroundArgv,
    env: supervisorEnvironment(),
    log: supervisorLog,
  });
}
