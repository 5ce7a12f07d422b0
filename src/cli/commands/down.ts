import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../context.ts";
import { runDown } from "../down/down.ts";
import { type PlaceOptions, pathsOf, withPlaceOptions } from "./places.ts";
import { readDuration } from "./up.ts";

interface DownOptions extends PlaceOptions {
  readonly gracePeriod?: number;
  readonly timeout: number;
  readonly purge?: boolean;
  readonly images?: boolean;
}

const TIMEOUT_MS = 10 * 60_000;

/** `nodelet down`. */
export function addDownCommand(program: Command, context: CliContext): void {
  const command = program
    .command("down")
    .summary("end all pods and remove what `up` has made")
    .description(
      "Ends all pods, each with its own grace period, then ends what `nodelet up` has started and removes " +
        "what it has made, and says what that was. Your manifests and a configuration that you changed " +
        "stay. It may be repeated; what could not be removed is named, with exit code 1.",
    )
    .addOption(
      new Option("--grace-period <seconds>", "grace for every pod instead of its own").argParser(
        readSeconds,
      ),
    )
    .addOption(
      new Option("--timeout <duration>", "give up waiting for pods after this time")
        .default(TIMEOUT_MS, "10m")
        .argParser(readDuration),
    )
    .option("--images", "remove images too that were loaded or pulled with `nodelet images`")
    .option("--purge", "remove manifests and configuration too");
  withPlaceOptions(command).action(async (options: DownOptions) => {
    const request = {
      paths: pathsOf(options, context.io.cwd),
      graceSeconds: options.gracePeriod ?? ("own" as const),
      timeoutMs: options.timeout,
      purge: options.purge === true,
      images: options.images === true,
    };
    context.finish(await runDown(request, context));
  });
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isInteger(seconds) && seconds >= 0) return seconds;
  throw new InvalidArgumentError("write a whole number of seconds");
}
