import type { Command } from "commander";
import { runRemote } from "../../client/remote-command.ts";
import { type CliContext, clientOf } from "../context.ts";
import {
  type ContainerOptions,
  chooseContainer,
  containerUrlPath,
  fetchPod,
  withPodOptions,
} from "./options/pod-options.ts";

interface ExecOptions extends ContainerOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

/** `nodelet exec`. */
export function addExecCommand(program: Command, context: CliContext): void {
  const command = program
    .command("exec")
    .summary("run a command in a container")
    .description("Runs a command in a container of a pod. The exit code is that of the command.")
    .usage("[options] <pod> -- <command> [arguments...]")
    .argument("<pod>", "name, pod/name or namespace/name")
    .argument("<command...>", "the command and its arguments, after --")
    .option("-c, --container <name>", "container name; default is the first container")
    .option("-i, --stdin", "pass standard input to the command")
    .option("-t, --tty", "allocate a terminal for the command");
  withPodOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (reference: string, argv: readonly string[], options: ExecOptions) => {
      context.finish(await exec(reference, argv, options, context));
    });
}

const EXAMPLES = `
Examples:
  nodelet exec hello -- ls -l /www
  nodelet exec -it hello -- sh
  echo text | nodelet exec -i hello -- head -n1
`;

async function exec(
  reference: string,
  argv: readonly string[],
  options: ExecOptions,
  context: CliContext,
): Promise<number> {
  const { io } = context;
  const client = clientOf(context, options);
  const pod = await fetchPod(client, reference, options);
  const { name } = chooseContainer(pod, options, io);
  const stdin = options.stdin === true;
  let tty = options.tty === true;
  if (tty && io.stdin.isTTY !== true) {
    io.stderr.write("nodelet: -t is ignored: standard input is not a terminal\n");
    tty = false;
  }
  const path = `/exec/${containerUrlPath(pod, name)}?${execQuery(argv, { stdin, tty })}`;
  return await runRemote({ socketPath: client.socketPath, path, stdin, tty }, io);
}

/** The request's parameters (v1.PodExecOptions; kubelets read `input`, `output` and `error`). */
function execQuery(
  argv: readonly string[],
  { stdin, tty }: { readonly stdin: boolean; readonly tty: boolean },
): URLSearchParams {
  const query = new URLSearchParams(argv.map((word) => ["command", word]));
  if (stdin) query.set("input", "1");
  query.set("output", "1");
  // With a terminal both outputs are one.
  if (tty) query.set("tty", "1");
  else query.set("error", "1");
  return query;
}
