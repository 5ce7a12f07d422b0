/** `nodelet up`: checks the machine, makes it a node, and hands over to the view or to the background. */
import { mkdirSync } from "node:fs";
import { AgentClient } from "../../client/agent-client.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../present/exit-codes.ts";
import { writeLines } from "../io.ts";
import { judgeMachine } from "./checks.ts";
import { linkCommand } from "./command-link.ts";
import { installDemo } from "./demo.ts";
import { OpenLedger, readLedger } from "./ledger.ts";
import { surveyMachine } from "./machine-report.ts";
import { DEFAULT_PLACES, type UpPaths } from "./paths.ts";
import { prepareNode } from "./prepare.ts";
import { renderChecks } from "./render-checks.ts";
import type { UpContext, UpRequest } from "./request.ts";
import { goToBackground } from "./supervise/background.ts";
import { viewNode } from "./supervise/foreground.ts";
import {
  claimSupervisor,
  orphanedAgent,
  readSupervisor,
  refuseWhileStopping,
} from "./supervise/supervisor-note.ts";

/** Runs `up`; resolves with the exit code. */
export async function runUp(request: UpRequest, context: UpContext): Promise<number> {
  const { paths, checkOnly, detach } = request;
  const { io } = context;
  const print = (text: string) => writeLines(io.stderr, [`nodelet: ${text}`]);
  const cluster = readLedger(paths.ledger)?.cluster;
  if (cluster?.joined === true)
    throw new CliError("this machine is a node of a cluster", {
      fix: "nodelet join starts it again; nodelet leave takes it out of the cluster",
    });
  if (cluster !== undefined)
    throw new CliError("this machine is the control plane of a cluster", {
      fix: "nodelet up --control-plane starts it again; nodelet down removes it",
    });
  if (!checkOnly) refuseWhileStopping(paths);
  const orphan = checkOnly ? undefined : orphanedAgent(paths);
  if (!checkOnly && orphan === undefined && (await agentRuns(paths))) {
    print("agent is already running");
    if (request.demo) await bringDemo(request, print);
    return detach && !request.untilReady ? EXIT_OK : await viewNode(request, context, "attached");
  }
  // An agent that its supervisor has left is not prepared for again, it is taken over as it is.
  if (orphan !== undefined) {
    if (request.demo) await bringDemo(request, print);
  } else if (!(await makeReady(request, context, print))) return EXIT_FAILURE;
  if (checkOnly) return EXIT_OK;
  return detach
    ? await goToBackground(request, context)
    : await viewNode(request, context, "supervising");
}

/** Checks the machine and prepares it; resolves with whether it can be a node. */
async function makeReady(
  request: UpRequest,
  { io }: UpContext,
  print: (text: string) => void,
): Promise<boolean> {
  const { paths, containerd, checkOnly, demo, ociRuntime } = request;
  const { host } = connectMachine(silentLog);
  const ledger = readLedger(paths.ledger);
  const report = await surveyMachine({ host, paths, ledger, containerd, ociRuntime });
  const checks = judgeMachine(report);
  writeLines(io.stdout, renderChecks(checks, io.paint));
  if (checks.some(({ level }) => level === "fail")) return false;
  if (checkOnly) return true;
  const open = new OpenLedger(paths.ledger);
  if (open.setAsideAs !== undefined)
    print(`failed to read the record of what up has created; renamed it to ${open.setAsideAs}`);
  open.expectFolders([paths.stateDir, paths.runDir]);
  mkdirSync(paths.runDir, { recursive: true, mode: 0o755 });
  using _claim = claimSupervisor(paths);
  await prepareNode({ paths, ledger: open, report, host, print, ociRuntime });
  if (paths.stateDir === DEFAULT_PLACES.stateDir) linkCommand(open, print);
  if (demo) await bringDemo(request, print);
  return true;
}

async function agentRuns(paths: UpPaths): Promise<boolean> {
  return (
    readSupervisor(paths) !== undefined || (await new AgentClient(paths.agentSocket).answers())
  );
}

async function bringDemo({ paths }: UpRequest, print: (text: string) => void): Promise<void> {
  const ledger = new OpenLedger(paths.ledger);
  const { runtime } = ledger.now;
  if (runtime === undefined) {
    throw new CliError("the running agent was not started by `nodelet up`", {
      fix: "stop it first, or put examples/hello/pod.yaml into its folder of manifests yourself",
    });
  }
  const own = runtime.kind === "own";
  await installDemo(paths, { socket: runtime.socket, own, ledger, print });
}
