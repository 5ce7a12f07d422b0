/**
 * The command line. Owns: the tree of commands, and what becomes of errors and signals. In: arguments. Out:
 * an exit code. Invariants: an error is printed in one line with its fix, never with a stack.
 *
 *     process.exitCode = await runCli(["get", "pods", "-o", "wide"]);
 */
import { Command, CommanderError } from "commander";
import { messageOf } from "../kit/errors.ts";
import { CliError, formatCliError } from "../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from "../present/exit-codes.ts";
import { nodeletVersion } from "../process/version.ts";
import { addCgroupsCommand } from "./commands/cgroups.ts";
import { addDoctorCommand } from "./commands/cluster/doctor.ts";
import { addEtcdCommand } from "./commands/cluster/etcd.ts";
import { addJoinCommand } from "./commands/cluster/join.ts";
import { addLeaveCommand } from "./commands/cluster/leave.ts";
import { addUpgradeCommand } from "./commands/cluster/upgrade.ts";
import { addCompletionCommand, answerCompletion, COMPLETE_WORD } from "./commands/completion.ts";
import { addConfigCommand } from "./commands/config.ts";
import { addDescribeCommand } from "./commands/describe.ts";
import { addDevicesCommand } from "./commands/devices.ts";
import { addDownCommand } from "./commands/down.ts";
import { addEventsCommand } from "./commands/events.ts";
import { addExecCommand } from "./commands/exec.ts";
import { addExportCommand } from "./commands/export.ts";
import { addGetCommand } from "./commands/get/get.ts";
import { addHardenCommand } from "./commands/harden.ts";
import { addImagesCommand } from "./commands/images/images.ts";
import { addLogsCommand } from "./commands/logs.ts";
import { addPageCommand } from "./commands/page.ts";
import { addPlanCommand } from "./commands/plan/plan.ts";
import { addProbesCommand } from "./commands/probes.ts";
import { addRecordCommand } from "./commands/record/record.ts";
import { addReplayCommand } from "./commands/record/replay.ts";
import { addServiceCommand } from "./commands/service.ts";
import { addStopCommand } from "./commands/stop.ts";
import { addUpCommand } from "./commands/up.ts";
import { addVersionCommand } from "./commands/version.ts";
import { addVolumesCommand } from "./commands/volumes.ts";
import { addWhyCommand } from "./commands/why.ts";
import type { CliContext } from "./context.ts";
import { type Io, processIo } from "./io.ts";

/** Runs the command line of this process; resolves with the exit code. */
export async function runCli(argv: readonly string[]): Promise<number> {
  const io = processIo();
  for (const stream of [process.stdout, process.stderr]) stream.on("error", endOnClosedPipe);
  return await runCommand(argv, io, interruptOf(process));
}

/** Runs one command with the given surroundings; never throws. */
export async function runCommand(
  argv: readonly string[],
  io: Io,
  onInterrupt: () => AbortSignal,
): Promise<number> {
  let exitCode = EXIT_OK;
  const finish = (code: number) => {
    exitCode = code;
  };
  const context = { io, onInterrupt, finish };
  const program = buildProgram(context);
  try {
    if (argv[0] === COMPLETE_WORD) await answerCompletion(argv.slice(1), program, context);
    else if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    const error =
      thrown instanceof CliError ? thrown : new CliError(messageOf(thrown), { cause: thrown });
    io.stderr.write(formatCliError(error));
    if ((io.env["NODELET_DEBUG"] ?? "") !== "" && error.cause instanceof Error)
      io.stderr.write(`${error.cause.stack}\n`);
    return error.exitCode;
  }
}

/** The whole tree of commands. */
export function buildProgram(context: CliContext): Command {
  const { io } = context;
  const program = new Command("nodelet");
  program
    .description(
      "A Kubernetes node agent: runs pods on containerd, with or without a cluster, and explains every " +
        "decision it takes.",
    )
    .version(nodeletVersion(), "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", START)
    .showSuggestionAfterError()
    // Options belong to the command they stand behind: `images -o` and `images save -o` are two.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "nodelet: ")),
      getOutHelpWidth: () => helpWidth(io),
      getErrHelpWidth: () => helpWidth(io),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride();
  addUpCommand(program, context);
  addJoinCommand(program, context);
  addLeaveCommand(program, context);
  addUpgradeCommand(program, context);
  addEtcdCommand(program, context);
  addDoctorCommand(program, context);
  addStopCommand(program, context);
  addDownCommand(program, context);
  addRunCommand(program);
  addServiceCommand(program, context);
  addGetCommand(program, context);
  addDescribeCommand(program, context);
  addLogsCommand(program, context);
  addExecCommand(program, context);
  addExportCommand(program, context);
  addWhyCommand(program, context);
  addEventsCommand(program, context);
  addProbesCommand(program, context);
  addPageCommand(program, context);
  addPlanCommand(program, context);
  addRecordCommand(program, context);
  addReplayCommand(program, context);
  addCgroupsCommand(program, context);
  addDevicesCommand(program, context);
  addVolumesCommand(program, context);
  addImagesCommand(program, context);
  addConfigCommand(program, context);
  addHardenCommand(program, context);
  addVersionCommand(program, context);
  addCompletionCommand(program, context);
  return program;
}

/** `run` is taken before this tree is built (main.ts); it stands here for help and completion. */
function addRunCommand(program: Command): void {
  program
    .command("run")
    .summary("run the agent in the foreground, with the flags of the kubelet")
    .description("Runs the agent in the foreground, with the flags of the kubelet.")
    .argument("[flags...]", "the kubelet's flags; nodelet run --help lists them")
    .allowUnknownOption();
}

const START = `
Get started:
  sudo nodelet up --demo      turn this machine into a node with an example pod
  sudo nodelet stop           stop pods and agent, keep everything for the next up
  sudo nodelet down           stop everything and clean up

Exit codes: 0 done, 1 failed, 2 not understood, 3 not found, 4 the agent is not running.
`;

/** Help is as wide as the terminal, up to what reads well. */
function helpWidth(io: Io): number {
  return Math.min(io.stdout.columns ?? 100, 100);
}

/** `head` and the like close their end when they have enough: nothing to complain about. */
function endOnClosedPipe(error: NodeJS.ErrnoException): void {
  process.exit(error.code === "EPIPE" ? EXIT_OK : EXIT_FAILURE);
}

/** Turns the first interrupt into an aborted signal; the second one ends the process at once. */
function interruptOf(target: NodeJS.Process): () => AbortSignal {
  const controller = new AbortController();
  let listening = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) target.exit(signal === "SIGINT" ? 130 : 143);
    controller.abort(new Error(`received ${signal}`));
  };
  return () => {
    if (!listening) {
      listening = true;
      target.on("SIGINT", onSignal);
      target.on("SIGTERM", onSignal);
    }
    return controller.signal;
  };
}
