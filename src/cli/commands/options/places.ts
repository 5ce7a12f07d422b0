import { resolve } from "node:path";
import type { Command } from "commander";
import { NODE_FLAGS } from "../../../outside/memory/memory.ts";
import { selfCommand } from "../../../process/package-root.ts";
import type { NodeContext } from "../../cluster/cluster-node.ts";
import { DEFAULT_PLACES, type UpPaths, type UpPlaces, upPaths } from "../../up/paths.ts";

/** The options for the location of an installation. */
export interface PlaceOptions {
  readonly stateDir: string;
  readonly runDir: string;
  readonly logDir: string;
  readonly config: string;
  readonly manifests: string;
}

/** Those that a node of a cluster has, whose other files are kubeadm's. */
export type FolderOptions = Pick<PlaceOptions, "stateDir" | "runDir" | "logDir">;

/** Adds the options for the location of an installation. */
export function withPlaceOptions(command: Command): Command {
  const own = command
    .option("--config <file>", "the agent's configuration", DEFAULT_PLACES.config)
    .option("--manifests <folder>", "folder of pod manifests", DEFAULT_PLACES.manifests);
  return withFolderOptions(own);
}

/** Adds those for the location of a node of a cluster. */
export function withFolderOptions(command: Command): Command {
  return command
    .option("--state-dir <folder>", "persistent state", DEFAULT_PLACES.stateDir)
    .option("--run-dir <folder>", "sockets and process ids", DEFAULT_PLACES.runDir)
    .option("--log-dir <folder>", "logs of agent and containerd", DEFAULT_PLACES.logDir);
}

/** The paths of the installation that the options name. */
export function pathsOf(options: FolderOptions & Partial<PlaceOptions>, cwd: string): UpPaths {
  const { stateDir, runDir, logDir } = options;
  const { config = DEFAULT_PLACES.config, manifests = DEFAULT_PLACES.manifests } = options;
  const places: UpPlaces = { stateDir, runDir, logDir, config, manifests };
  const absolute = Object.entries(places).map(([name, path]) => [name, resolve(cwd, path)]);
  return upPaths({ ...places, ...Object.fromEntries(absolute) });
}

/** The command that keeps agent and runtime running in the background, with flags for the agent. */
export function supervisorCommand(
  paths: UpPaths,
  agentFlags: readonly string[],
): readonly [string, ...string[]] {
  const words = ["up", "--supervise", ...placeArguments(paths), "--", ...agentFlags];
  return selfCommand(NODE_FLAGS, words);
}

/** Both ways to keep a cluster's node running: in the background, and as a service, which prepares the machine after a reboot, too. */
export function clusterArgv(paths: UpPaths): Pick<NodeContext, "backgroundArgv" | "serviceArgv"> {
  const words = ["up", "--supervise", "--prepare", ...placeArguments(paths)];
  return {
    backgroundArgv: supervisorCommand(paths, []),
    serviceArgv: selfCommand(NODE_FLAGS, words),
  };
}

/** The same options as words of a command line. */
function placeArguments(paths: UpPaths): readonly string[] {
  const { stateDir, runDir, logDir, config, manifests } = paths;
  return [
    `--config=${config}`,
    `--manifests=${manifests}`,
    `--state-dir=${stateDir}`,
    `--run-dir=${runDir}`,
    `--log-dir=${logDir}`,
  ];
}
