import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { runDown } from "../down/down.ts";
import { type PlaceOptions, pathsOf, withPlaceOptions } from "./places.ts";
import { withStopOptions } from "./stop.ts";

interface DownOptions extends PlaceOptions {
  readonly gracePeriod?: number;
  readonly timeout: number;
  readonly purge?: boolean;
  readonly images?: boolean;
  readonly yes?: boolean;
}

/** `nodelet down`. */
export function addDownCommand(program: Command, context: CliContext): void {
  const command = withStopOptions(
    program
      .command("down")
      .summary("end all pods and remove what `up` has made")
      .description(
        "Ends all pods, each with its own grace period, then ends what `nodelet up` has started and removes " +
          "what it has made, and says what that was. Your manifests and a configuration that you changed " +
          "stay. On a terminal it shows what will go, offers an export of the objects, and asks. It may be repeated; what " +
          "could not be removed is named, with exit code 1. `nodelet stop` ends everything and removes nothing.",
      ),
  )
    .option("-y, --yes", "do not ask")
    .option("--images", "remove images too that were loaded or pulled with `nodelet images`")
    .option("--purge", "remove manifests and configuration too");
  withPlaceOptions(command).action(async (options: DownOptions) => {
    const request = {
      paths: pathsOf(options, context.io.cwd),
      graceSeconds: options.gracePeriod ?? ("own" as const),
      timeoutMs: options.timeout,
      purge: options.purge === true,
      images: options.images === true,
      yes: options.yes === true,
    };
    context.finish(await runDown(request, context));
  });
}
