/** The options of `up` that shape a cluster. */
import { type Command, Option } from "commander";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import type { ControlPlaneRequest } from "../../cluster/request.ts";

/** The options as commander has them. */
export interface ClusterFlags extends KubeadmFlags {
  readonly controlPlane?: boolean;
  readonly kubernetesVersion?: string;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  readonly apiAddress?: string;
  readonly imageRepository?: string;
  readonly controlPlaneEndpoint?: string;
  readonly kubeadmConfig?: string;
}

/** Options that say which kubeadm to run, and how. */
export interface KubeadmFlags {
  readonly kubeadm?: string;
  readonly ignorePreflightErrors?: string;
  /** False with --no-pod-routes. */
  readonly podRoutes: boolean;
  readonly networkPlugin?: boolean;
}

/** The options that say something only together with `--control-plane`. */
const NAMES = {
  kubernetesVersion: "--kubernetes-version",
  podCidr: "--pod-cidr",
  serviceCidr: "--service-cidr",
  apiAddress: "--api-address",
  imageRepository: "--image-repository",
  controlPlaneEndpoint: "--control-plane-endpoint",
  kubeadmConfig: "--kubeadm-config",
  kubeadm: "--kubeadm",
  ignorePreflightErrors: "--ignore-preflight-errors",
  networkPlugin: "--network-plugin",
} as const;

/** Adds `--control-plane` and what goes with it. */
export function withClusterOptions(command: Command): Command {
  const own = command
    .option("--control-plane", "make the machine a cluster's control plane, by kubeadm")
    .addOption(
      new Option("--kubernetes-version <version>", "of the cluster, like v1.37.2").argParser(
        readVersion,
      ),
    )
    .option(
      "--pod-cidr <network>",
      "addresses of the cluster's pods; default one that is free here",
    )
    .option("--service-cidr <network>", "addresses of Services; default kubeadm's")
    .option("--api-address <address>", "of this machine, for the API server; default kubeadm's")
    .option("--image-repository <name>", "registry of the control plane's images")
    .option(
      "--control-plane-endpoint <address:port>",
      "of all API servers, for clusters that more control planes will join",
    )
    .option("--kubeadm-config <file>", "more of kubeadm's configuration (v1beta4)");
  return withKubeadmOptions(own);
}

/** Adds the options that say which kubeadm to run, and how. */
export function withKubeadmOptions(command: Command): Command {
  return command
    .option(
      "--kubeadm <path>",
      "kubeadm, or the folder that has it; default from the PATH, else downloaded",
    )
    .option(
      "--ignore-preflight-errors <names>",
      "kubeadm's checks that may fail, separated by commas",
    )
    .option(
      "--network-plugin",
      "pods get the network of a plugin that the cluster installs, not nodelet's",
    )
    .option("--no-pod-routes", "do not keep routes to the pods of the cluster's other nodes");
}

type ClusterOptions = Pick<
  ControlPlaneRequest,
  "cluster" | "kubeadm" | "ignorePreflightErrors" | "podRoutes" | "networkPlugin"
>;

/** What the options say of kubeadm. */
export function kubeadmOptionsOf(flags: KubeadmFlags) {
  return {
    kubeadm: flags.kubeadm,
    ignorePreflightErrors: flags.ignorePreflightErrors?.split(",") ?? [],
    podRoutes: flags.podRoutes,
    networkPlugin: flags.networkPlugin === true,
  };
}

/** What the options ask for; undefined without `--control-plane`. Throws `CliError` when they contradict each other. */
export function clusterOptionsOf(flags: ClusterFlags): ClusterOptions | undefined {
  if (flags.controlPlane === true) {
    const cluster = {
      kubernetesVersion: flags.kubernetesVersion,
      podCidr: flags.podCidr,
      serviceCidr: flags.serviceCidr,
      apiAddress: flags.apiAddress,
      imageRepository: flags.imageRepository,
      controlPlaneEndpoint: flags.controlPlaneEndpoint,
      kubeadmConfig: flags.kubeadmConfig,
    };
    return { cluster, ...kubeadmOptionsOf(flags) };
  }
  for (const [name, option] of Object.entries(NAMES))
    if (flags[name as keyof typeof NAMES] !== undefined) throw withoutControlPlane(option);
  if (!flags.podRoutes) throw withoutControlPlane("--no-pod-routes");
  return undefined;
}

function withoutControlPlane(option: string): CliError {
  return new CliError(`${option} has no effect without --control-plane`, {
    exitCode: EXIT_USAGE,
    fix: "add --control-plane, or leave it out",
  });
}

/** A version of Kubernetes with its patch, as `v1.37.2`. */
export function readVersion(text: string): string {
  const [, version] = /^v?(1\.\d+\.\d+)$/.exec(text) ?? [];
  if (version !== undefined) return `v${version}`;
  throw new CliError(`--kubernetes-version: ${text} is no version`, {
    exitCode: EXIT_USAGE,
    fix: "name a release, like v1.37.2",
  });
}
