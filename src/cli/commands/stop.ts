import { type Command, Option } from "commander";
import type { CliContext } from "../context.ts";
import type { NodeStopRequest } from "../down/drain.ts";
import { runStop } from "../down/stop.ts";
import { readCount, readDuration } from "./options/arguments.ts";
import { type PlaceOptions, pathsOf, withPlaceOptions } from "./options/places.ts";

export interface StopOptions extends PlaceOptions {
  readonly gracePeriod?: number;
  readonly timeout: number;
}

const TIMEOUT_MS = 10 * 60_000;

/** `nodelet stop`. */
export function addStopCommand(program: Command, context: CliContext): void {
  const command = program
    .command("stop")
    .summary("stop pods, agent and runtime; keep their state")
    .description(
      "Stops all pods, each with its own grace period, and stops the agent and the containerd that " +
        "`nodelet up` started. Objects, volumes, images and logs are kept: the next `nodelet up` starts " +
        "the pods again, as after a reboot of the machine. `nodelet down` removes everything.",
    );
  withStopOptions(command);
  withPlaceOptions(command).action(async (options: StopOptions) => {
    context.finish(await runStop(stopRequestOf(options, context), context));
  });
}

/** The request of the options that `withStopOptions` and `withPlaceOptions` add. */
export function stopRequestOf(options: StopOptions, { io }: CliContext): NodeStopRequest {
  return {
    paths: pathsOf(options, io.cwd),
    graceSeconds: options.gracePeriod ?? "own",
    timeoutMs: options.timeout,
  };
}

/** Adds the options that say how long pods may take to end. */
export function withStopOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--grace-period <seconds>",
        "grace period for all pods, instead of their own",
      ).argParser((text) => readCount(text, " of seconds")),
    )
    .addOption(
      new Option("--timeout <duration>", "give up waiting for pods after this time")
        .default(TIMEOUT_MS, "10m")
        .argParser(readDuration),
    );
}
