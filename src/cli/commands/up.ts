import { type Command, Option } from "commander";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_USAGE } from "../../present/exit-codes.ts";
import { prepareAfterBoot } from "../cluster/cluster-node.ts";
import { runControlPlane } from "../cluster/control-plane.ts";
import type { CliContext } from "../context.ts";
import { runSupervisor } from "../run-supervisor.ts";
import { DEFAULT_PLACES } from "../up/paths.ts";
import { OCI_RUNTIME_NAMES } from "../up/runtime/oci-runtimes.ts";
import { runUp } from "../up/up.ts";
import { readDuration } from "./options/arguments.ts";
import { type ClusterFlags, clusterOptionsOf, withClusterOptions } from "./options/cluster.ts";
import {
  clusterArgv,
  type PlaceOptions,
  pathsOf,
  supervisorCommand,
  withPlaceOptions,
} from "./options/places.ts";

interface UpOptions extends PlaceOptions, ClusterFlags {
  readonly demo?: boolean;
  readonly detach?: boolean;
  readonly untilReady?: boolean;
  readonly timeout: number;
  readonly check?: boolean;
  readonly containerd: string;
  readonly ociRuntime?: string;
  readonly supervise?: boolean;
  readonly prepare?: boolean;
}

const TIMEOUT_MS = 120_000;

/** `nodelet up`. */
export function addUpCommand(program: Command, context: CliContext): void {
  const command = program
    .command("up")
    .summary("turn this machine into a node and show it")
    .description(
      "Turns this machine into a node without a cluster: checks the machine, uses a running containerd " +
        "or starts its own, writes a configuration, keeps the agent running, and shows the node and its " +
        "pods live. Pods come from manifests in a folder, and from kubectl through the node's own API. " +
        "When the command ends, pods keep running; `nodelet down` stops and removes them.",
    )
    .argument("[flags...]", "flags for the agent as for `nodelet run`, after --")
    .option("--demo", "also run examples/hello, a web server with all three probes")
    .option("-d, --detach", "leave the agent running in the background and return")
    .option("--until-ready", "return as soon as node and pods are ready")
    .addOption(
      new Option("--timeout <duration>", "give up waiting after this time")
        .default(TIMEOUT_MS, "2m")
        .argParser(readDuration),
    )
    .option("--check", "only check the machine, change nothing")
    .option("--containerd <which>", "auto, own, or the path of a socket", "auto")
    .addOption(
      new Option(
        "--oci-runtime <name>",
        "of nodelet's own containerd, for pods without a RuntimeClass; default crun where it works, else runc",
      ).choices(OCI_RUNTIME_NAMES),
    )
    .addOption(
      new Option(
        "--supervise",
        "restart agent and runtime when they exit, and do nothing else",
      ).hideHelp(),
    )
    .addOption(
      new Option(
        "--prepare",
        "with --supervise: prepare the machine of a cluster's node first",
      ).hideHelp(),
    );
  withPlaceOptions(withClusterOptions(command))
    .addHelpText("after", EXAMPLES)
    .action(async (flags: readonly string[], options: UpOptions) => {
      context.finish(await up(flags, options, context));
    });
}

const EXAMPLES = `
Examples:
  sudo nodelet up --demo                          start a node with an example pod
  sudo nodelet up --detach                        run it in the background
  sudo nodelet up --demo --detach --until-ready   for scripts: returns when the example serves
  sudo nodelet up --check                         can this machine be a node?
  sudo nodelet up -- --max-pods=20 -v 4           with flags for the agent
  sudo nodelet up --control-plane                 a cluster with Deployments, Services, DNS, by kubeadm
`;

async function up(
  flags: readonly string[],
  options: UpOptions,
  context: CliContext,
): Promise<number> {
  const paths = pathsOf(options, context.io.cwd);
  if (options.supervise === true) {
    if (options.prepare === true) await prepareAfterBoot(paths, context.io);
    return await runSupervisor(paths, flags, context);
  }
  const cluster = clusterOptionsOf(options);
  const request = {
    paths,
    containerd: options.containerd,
    ociRuntime: options.ociRuntime,
    agentFlags: flags,
    demo: options.demo === true,
    detach: options.detach === true,
    untilReady: options.untilReady === true,
    timeoutMs: options.timeout,
    checkOnly: options.check === true,
  };
  const { io, onInterrupt } = context;
  const backgroundArgv = supervisorCommand(paths, flags);
  if (cluster !== undefined) {
    refuseWithCluster(options);
    const { containerd, ociRuntime, timeoutMs } = request;
    return await runControlPlane(
      { paths, containerd, ociRuntime, timeoutMs, agentFlags: flags, ...cluster },
      { io, onInterrupt, ...clusterArgv(paths) },
    );
  }
  return await runUp(request, { io, onInterrupt, backgroundArgv });
}

/** Options that mean something only for a node without a cluster. */
function refuseWithCluster({ demo, check, config, manifests }: UpOptions): void {
  const given = [
    ...(demo === true ? ["--demo"] : []),
    ...(check === true ? ["--check"] : []),
    // kubeadm writes the configuration, and names the folder of its static pods.
    ...(config !== DEFAULT_PLACES.config ? ["--config"] : []),
    ...(manifests !== DEFAULT_PLACES.manifests ? ["--manifests"] : []),
  ][0];
  if (given === "--config")
    throw new CliError("--config does not go with --control-plane", {
      exitCode: EXIT_USAGE,
      fix: "the file of --kubeadm-config may have a KubeletConfiguration",
    });
  if (given === undefined) return;
  throw new CliError(`${given} does not go with --control-plane`, {
    exitCode: EXIT_USAGE,
    fix: "leave one of the two out",
  });
}
