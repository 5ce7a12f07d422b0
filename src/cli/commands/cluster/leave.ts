import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { CliContext } from "../../context.ts";
import { runLeave } from "../../leave/leave.ts";
import { readDuration } from "../options/arguments.ts";
import { type FolderOptions, pathsOf, withFolderOptions } from "../options/places.ts";

interface LeaveOptions extends FolderOptions {
  readonly kubeconfig?: string;
  readonly force?: boolean;
  readonly timeout: number;
  readonly yes?: boolean;
}

const TIMEOUT_MS = 10 * 60_000;

/** `nodelet leave`. */
export function addLeaveCommand(program: Command, context: CliContext): void {
  const command = program
    .command("leave")
    .summary("take this machine out of its cluster")
    .description(
      "Takes a machine out of its cluster that `nodelet join` has made a node: no new pods, its pods are evicted " +
        "and run elsewhere, a control plane leaves etcd, the Node object is deleted, and the machine is cleaned " +
        "as by `nodelet down`, which alone does only that.",
    )
    .option(
      "--kubeconfig <file>",
      "of an administrator, for clusters that do not let a node delete itself",
    )
    .option("--force", "also end pods that no controller would start elsewhere")
    .addOption(
      new Option("--timeout <duration>", "give up waiting for pods after this time")
        .default(TIMEOUT_MS, "10m")
        .argParser(readDuration),
    )
    .option("-y, --yes", "do not ask for confirmation");
  withFolderOptions(command).action(async (options: LeaveOptions) => {
    const { kubeconfig, timeout } = options;
    const request = {
      paths: pathsOf(options, context.io.cwd),
      kubeconfig: kubeconfig === undefined ? undefined : resolve(context.io.cwd, kubeconfig),
      force: options.force === true,
      timeoutMs: timeout,
      yes: options.yes === true,
    };
    context.finish(await runLeave(request, context));
  });
}
