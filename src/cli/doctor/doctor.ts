/** `nodelet doctor`: the machine, the agent and the control plane, with what to do about what is wrong. */
import { AgentClient } from "../../client/agent-client.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../present/exit-codes.ts";
import type { Overview, ProblemsReply } from "../../present/shapes.ts";
import { summarizeNode } from "../../present/tables/node-summary.ts";
import type { CommandContext } from "../context.ts";
import { installedPaths } from "../control-plane/installed-paths.ts";
import { writeLines } from "../io.ts";
import { type Check, judgeMachine } from "../up/checks.ts";
import { readLedger } from "../up/ledger.ts";
import { surveyMachine } from "../up/machine-report.ts";
import type { UpPaths } from "../up/paths.ts";
import { renderChecks } from "../up/render-checks.ts";
import { surveyControlPlane } from "./survey-cluster.ts";

/** Runs `doctor`; resolves with the exit code. */
export async function runDoctor(chosen: UpPaths, { io }: CommandContext): Promise<number> {
  const { paths, startWords } = installedPaths(chosen);
  const { host } = connectMachine(silentLog);
  const ledger = readLedger(paths.ledger);
  const options = { containerd: "auto", ociRuntime: undefined } as const;
  const machine = judgeMachine(await surveyMachine({ host, paths, ledger, ...options }));
  const agent = await judgeAgent(paths, `nodelet ${startWords} starts it`);
  const cluster =
    ledger?.cluster?.made === true ? await surveyControlPlane(ledger.cluster, io.now) : [];
  const checks = [...machine, ...agent, ...cluster];
  writeLines(io.stdout, renderChecks(checks, io.paint));
  return checks.some(({ level }) => level === "fail") ? EXIT_FAILURE : EXIT_OK;
}

async function judgeAgent({ agentSocket }: UpPaths, start: string): Promise<readonly Check[]> {
  const client = new AgentClient(agentSocket);
  if (!(await client.answers()))
    return [{ name: "agent", level: "warn", found: "does not run", fix: start }];
  const overview = await client.json<Overview>("/nodelet/v1/overview");
  const { items } = await client.json<ProblemsReply>("/nodelet/v1/problems");
  const { name, ready, why, problems } = summarizeNode(overview, items, undefined);
  const node: Check = ready
    ? { name: "node", level: "ok", found: `${name} is ready`, fix: "" }
    : { name: "node", level: "fail", found: `not ready: ${why}`, fix: "nodelet why --node" };
  return [
    node,
    ...problems.map(
      (found): Check => ({ name: "agent", level: "warn", found, fix: "nodelet why --node" }),
    ),
  ];
}
