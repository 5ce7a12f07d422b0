import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { runDown } from "../down/down.ts";
import { withPlaceOptions } from "./options/places.ts";
import { type StopOptions, stopRequestOf, withStopOptions } from "./stop.ts";

interface DownOptions extends StopOptions {
  readonly purge?: boolean;
  readonly images?: boolean;
  readonly yes?: boolean;
}

/** `nodelet down`. */
export function addDownCommand(program: Command, context: CliContext): void {
  const command = withStopOptions(
    program
      .command("down")
      .summary("stop all pods and remove what `up` created")
      .description(
        "Stops all pods, each with its own grace period, stops what `nodelet up` started, removes what it " +
          "created, and lists what was removed. Your manifests, and a configuration that you changed, are " +
          "kept. On a terminal it shows what will be removed, offers to export the objects, and asks for " +
          "confirmation. It can be repeated; if something could not be removed, it is listed and the exit " +
          "code is 1. `nodelet stop` stops everything and removes nothing.",
      ),
  )
    .option("-y, --yes", "do not ask for confirmation")
    .option("--images", "also remove images that were loaded or pulled with `nodelet images`")
    .option("--purge", "also remove manifests and configuration");
  withPlaceOptions(command).action(async (options: DownOptions) => {
    const request = {
      ...stopRequestOf(options, context),
      purge: options.purge === true,
      images: options.images === true,
      yes: options.yes === true,
    };
    context.finish(await runDown(request, context));
  });
}
