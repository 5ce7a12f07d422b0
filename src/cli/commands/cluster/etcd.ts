import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { CliContext } from "../../context.ts";
import { restoreSnapshot } from "../../etcd/restore.ts";
import { takeSnapshot } from "../../etcd/snapshot.ts";
import { readDuration } from "../options/arguments.ts";
import { type FolderOptions, pathsOf, withFolderOptions } from "../options/places.ts";

const TIMEOUT_MS = 3 * 60_000;

/** `nodelet etcd`. */
export function addEtcdCommand(program: Command, context: CliContext): void {
  const command = program
    .command("etcd")
    .summary("save and restore what a cluster has stored")
    .description(
      "Saves and restores what the cluster of this control plane has stored, with etcd's own tools from its image.",
    );
  const { io } = context;
  const snapshot = command
    .command("snapshot")
    .summary("save it to a file")
    .description(
      "Saves all that the cluster has stored to a file that only its owner can read: the cluster's secrets are in it. " +
        "The cluster goes on meanwhile.",
    )
    .argument("<file>", "that is not there yet");
  withFolderOptions(snapshot).action(async (file: string, options: FolderOptions) => {
    context.finish(await takeSnapshot(pathsOf(options, io.cwd), resolve(io.cwd, file), io));
  });
  const restore = command
    .command("restore")
    .summary("put the cluster back to a snapshot")
    .description(
      "Puts the cluster back to a snapshot. The data is made beside the present one first; then API server and etcd are " +
        "stopped, the data is exchanged, and both are started again. The data before is kept. Pods keep running " +
        "unless the snapshot does not have them. Without a file it goes on with a restore that was interrupted.",
    )
    .argument("[file]", "that `nodelet etcd snapshot` has written")
    .addOption(
      new Option("--timeout <duration>", "give up waiting for each step after this time")
        .default(TIMEOUT_MS, "3m")
        .argParser(readDuration),
    );
  withFolderOptions(restore).action(
    async (file: string | undefined, options: FolderOptions & { readonly timeout: number }) => {
      const request = {
        paths: pathsOf(options, io.cwd),
        file: file === undefined ? undefined : resolve(io.cwd, file),
        timeoutMs: options.timeout,
      };
      context.finish(await restoreSnapshot(request, context));
    },
  );
}
