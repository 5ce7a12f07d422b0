/** `nodelet stop`: ends pods, agent and runtime, and keeps all state: the next `up` starts the pods again. */
import { makeDecision } from "../../api/decisions.ts";
import { recordOnDisk } from "../../client/decisions.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../present/exit-codes.ts";
import { counted } from "../../present/text.ts";
import type { CommandContext } from "../context.ts";
import { claimStop, endAgent } from "../control-plane/end-agent.ts";
import { installedPaths } from "../control-plane/installed-paths.ts";
import { writeLines } from "../io.ts";
import { queryRuntime, withRuntime } from "../runtime/query-runtime.ts";
import { commandWord } from "../up/command-link.ts";
import { type RuntimeNote, readLedger } from "../up/ledger.ts";
import { shimsOf } from "../up/runtime/own-containerd.ts";
import { type NodeStopRequest, stopPods } from "./drain.ts";
import { endContainerd } from "./end-containerd.ts";

/** Runs `stop`; resolves with the exit code. */
export async function runStop(request: NodeStopRequest, context: CommandContext): Promise<number> {
  const { paths, startWords } = installedPaths(request.paths);
  const { io } = context;
  if (process.getuid?.() !== 0)
    throw new CliError("permission denied: only root can stop pods", { fix: "sudo nodelet stop" });
  const print = (text: string) => writeLines(io.stdout, [text]);
  await endAgent(paths, print);
  const runtime = readLedger(paths.ledger)?.runtime;
  if (runtime === undefined) {
    print("Nothing to stop: nodelet up has created nothing here.");
    return EXIT_OK;
  }
  using _claim = claimStop(paths, "stop");
  const nodeName = (await connectMachine(silentLog).host.facts()).hostname.toLowerCase();
  const { stopped, left } = await stopAll(runtime, { ...request, paths, nodeName }, context);
  const decision = makeDecision("stopNode", "nodelet stop", { pods: stopped, left });
  await recordOnDisk(paths.agentRoot, nodeName, decision);
  if (left.length > 0) {
    writeLines(io.stderr, ["nodelet: not stopped:", ...left.map((name) => `  ${name}`)]);
    return EXIT_FAILURE;
  }
  await stopRuntime(runtime);
  const word = commandWord();
  const width = Math.max(startWords.length, "down".length) + 4;
  writeLines(io.stdout, [
    `Stopped, ${counted(stopped, "pod")}. Objects, volumes, images and logs are kept.`,
    `  ${word} ${startWords.padEnd(width)}starts the pods again`,
    `  ${word} ${"down".padEnd(width)}removes everything`,
  ]);
  return EXIT_OK;
}

interface Stopped {
  readonly stopped: number;
  readonly left: readonly string[];
}

async function stopAll(
  runtime: RuntimeNote,
  request: NodeStopRequest & { readonly nodeName: string },
  context: CommandContext,
): Promise<Stopped> {
  const { paths, graceSeconds, timeoutMs, nodeName } = request;
  const { socket } = runtime;
  const answer = await queryRuntime(socket);
  if (answer.kind !== "answers") {
    // After a reboot, or a stop before, nothing runs.
    if (runtime.kind === "own" && shimsOf(socket).length === 0) return { stopped: 0, left: [] };
    throw new CliError(`containerd at ${socket} does not answer, so its pods cannot be stopped`, {
      fix: "start it again and repeat the command",
    });
  }
  const { host } = connectMachine(silentLog);
  const sandboxes = await withRuntime(socket, (cri, signal) =>
    cri.runtime.listSandboxes({}, signal),
  );
  if (sandboxes.length === 0) return { stopped: 0, left: [] };
  const print = (text: string) => writeLines(context.io.stdout, [text]);
  print("Stopping pods");
  return await stopPods({
    paths,
    graceSeconds,
    timeoutMs,
    host,
    runtimeSocket: socket,
    nodeName,
    print: (text) => print(`  ${text}`),
    interrupt: context.onInterrupt(),
  });
}

async function stopRuntime(runtime: RuntimeNote): Promise<void> {
  if (runtime.kind !== "own" || runtime.process === undefined) return;
  if (!(await endContainerd(runtime.process)))
    throw new CliError(`containerd (process ${runtime.process.pid}) did not exit`, {
      fix: `kill -9 ${runtime.process.pid}`,
    });
}
