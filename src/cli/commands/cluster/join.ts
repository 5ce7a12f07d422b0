import { type Command, Option } from "commander";
import type { CliContext } from "../../context.ts";
import { runJoin } from "../../join/join.ts";
import { OCI_RUNTIME_NAMES } from "../../up/runtime/oci-runtimes.ts";
import { readDuration } from "../options/arguments.ts";
import { type KubeadmFlags, kubeadmOptionsOf, withKubeadmOptions } from "../options/cluster.ts";
import { clusterArgv, type FolderOptions, pathsOf, withFolderOptions } from "../options/places.ts";

interface JoinOptions extends KubeadmFlags, FolderOptions {
  readonly token?: string;
  readonly discoveryTokenCaCertHash?: readonly string[];
  readonly discoveryTokenUnsafeSkipCaVerification?: boolean;
  readonly controlPlane?: boolean;
  readonly certificateKey?: string;
  readonly apiAddress?: string;
  readonly config?: string;
  readonly containerd: string;
  readonly ociRuntime?: string;
  readonly timeout: number;
}

const TIMEOUT_MS = 120_000;

/** `nodelet join`. */
export function addJoinCommand(program: Command, context: CliContext): void {
  const command = program
    .command("join")
    .summary("make this machine a node of a cluster")
    .description(
      "Makes this machine a node of a cluster that kubeadm manages, with nodelet in the place of the kubelet. " +
        "Takes the line that `kubeadm token create --print-join-command` prints on a control plane. Asks the " +
        "cluster first, and changes the machine only when it may join; prepares it as `nodelet up` does, and " +
        "runs kubeadm join. Without an address it starts a node that has joined again, for example after a " +
        "reboot.",
    )
    .argument("[address]", "of the API server, with its port")
    .argument("[flags...]", "flags for the agent as for `nodelet run`, after --")
    .option("--token <token>", "of the cluster, for machines that join")
    .option(
      "--discovery-token-ca-cert-hash <hash>",
      "of the public key of the cluster's certificate authority; may be repeated",
      (hash: string, before: readonly string[] = []) => [...before, hash],
    )
    .option(
      "--discovery-token-unsafe-skip-ca-verification",
      "trust whatever cluster answers at the address",
    )
    .option("--control-plane", "make the machine a further control plane")
    .option("--certificate-key <key>", "with which a control plane gets the cluster's certificates")
    .option("--api-address <address>", "of this machine, for its API server; default kubeadm's")
    .option("--config <file>", "a JoinConfiguration of kubeadm (v1beta4)")
    .option("--containerd <which>", "auto, own, or the path of a socket", "auto")
    .addOption(
      new Option(
        "--oci-runtime <name>",
        "of nodelet's own containerd, for pods without a RuntimeClass; default crun where it works, else runc",
      ).choices(OCI_RUNTIME_NAMES),
    )
    .addOption(
      new Option("--timeout <duration>", "give up waiting for the node after this time")
        .default(TIMEOUT_MS, "2m")
        .argParser(readDuration),
    );
  withFolderOptions(withKubeadmOptions(command))
    .addHelpText("after", EXAMPLES)
    .action(async (address: string | undefined, flags: readonly string[], options: JoinOptions) => {
      context.finish(await joinAs(address, flags, options, context));
    });
}

const EXAMPLES = `
Examples:
  sudo nodelet join 10.0.0.1:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HASH
  sudo nodelet join --config join.yaml      by a file, which keeps the token out of the list of processes
  sudo nodelet join                         start the node again after a reboot
`;

async function joinAs(
  first: string | undefined,
  others: readonly string[],
  options: JoinOptions,
  { io, onInterrupt }: CliContext,
): Promise<number> {
  // The list of processes has no secrets from now on.
  process.title = "nodelet join";
  // Behind -- all are flags.
  const isFlag = first?.startsWith("-") === true;
  const address = isFlag ? undefined : first;
  const flags = isFlag ? [first, ...others] : others;
  const { stateDir, runDir, logDir } = options;
  // Its --config is a file of kubeadm.
  const paths = pathsOf({ stateDir, runDir, logDir }, io.cwd);
  const request = {
    paths,
    containerd: options.containerd,
    ociRuntime: options.ociRuntime,
    timeoutMs: options.timeout,
    ...kubeadmOptionsOf(options),
    agentFlags: flags,
    choices: {
      endpoint: address,
      token: options.token,
      caCertHashes: options.discoveryTokenCaCertHash ?? [],
      skipCaVerification: options.discoveryTokenUnsafeSkipCaVerification === true,
      controlPlane: options.controlPlane === true,
      certificateKey: options.certificateKey,
      apiAddress: options.apiAddress,
      config: options.config,
    },
  };
  return await runJoin(request, { io, onInterrupt, ...clusterArgv(paths) });
}
