// pure
import type { MachineReport } from "../up/checks.ts";
import type { KubeadmSetting } from "./kubeadm-config.ts";

/** The options that shape the cluster; undefined where the user has none in mind. */
export interface ClusterChoices {
  /** Like `v1.37.2`. */
  readonly kubernetesVersion: string | undefined;
  /** Network of all pods, like `10.85.0.0/16`; each node gets a part of it. */
  readonly podCidr: string | undefined;
  readonly serviceCidr: string | undefined;
  /** Address of this machine at which the API server is reached. */
  readonly apiAddress: string | undefined;
  /** Address and port of all API servers together, which other control planes need to join. */
  readonly controlPlaneEndpoint: string | undefined;
  readonly imageRepository: string | undefined;
  /** A file with more of kubeadm's configuration. */
  readonly kubeadmConfig: string | undefined;
}

/** What follows from the machine for its node. */
interface NodeFacts {
  readonly nodeName: string;
  readonly runtime: Pick<MachineReport["runtime"], "kind" | "socket">;
  readonly cgroupVersion: 1 | 2;
  readonly swapOn: boolean;
  /** The file with the node's real name servers, where `/etc/resolv.conf` only names a local stub. */
  readonly resolvConf: string | undefined;
}

/** What follows from the machine for a new cluster. */
interface MachineFacts extends NodeFacts {
  /** A network for pods that is free on this machine, for when the user names none. */
  readonly freePodNetwork: () => string;
  /** The version of Kubernetes for when the user names none, like `v1.37.2`. */
  readonly kubernetesVersion: string;
}

/** What kubeadm's configuration gets: from options, from the machine, and defaults. */
export function kubeadmSettings(
  options: ClusterChoices,
  machine: MachineFacts,
): readonly KubeadmSetting[] {
  return [...clusterSettings(options, machine), ...nodeSettings(options, machine)];
}

function clusterSettings(
  options: ClusterChoices,
  { kubernetesVersion, freePodNetwork }: MachineFacts,
): readonly KubeadmSetting[] {
  const kind = "ClusterConfiguration";
  const from = (option: string, value: string | undefined) =>
    value === undefined ? {} : { from: option };
  const { serviceCidr, imageRepository, controlPlaneEndpoint } = options;
  return [
    {
      kind,
      path: ["kubernetesVersion"],
      value: options.kubernetesVersion ?? kubernetesVersion,
      ...from("--kubernetes-version", options.kubernetesVersion),
    },
    {
      kind,
      path: ["networking", "podSubnet"],
      value: options.podCidr ?? freePodNetwork(),
      ...from("--pod-cidr", options.podCidr),
    },
    ...given(kind, ["networking", "serviceSubnet"], serviceCidr, "--service-cidr"),
    ...given(kind, ["imageRepository"], imageRepository, "--image-repository"),
    ...given(kind, ["controlPlaneEndpoint"], controlPlaneEndpoint, "--control-plane-endpoint"),
  ];
}

function nodeSettings(
  { apiAddress }: ClusterChoices,
  machine: MachineFacts,
): readonly KubeadmSetting[] {
  const init = "InitConfiguration";
  return [
    ...registrationSettings(init, machine),
    // The only node of the cluster runs everybody's pods.
    { kind: init, path: ["nodeRegistration", "taints"], value: [] },
    ...given(init, ["localAPIEndpoint", "advertiseAddress"], apiAddress, "--api-address"),
    ...Object.entries(kubeletFields(machine)).map(
      ([name, value]) => ({ kind: "KubeletConfiguration", path: [name], value }) as const,
    ),
  ];
}

/** What a node registers with, when it makes a cluster or joins one. */
export function registrationSettings(
  kind: "InitConfiguration" | "JoinConfiguration",
  { nodeName, runtime }: Pick<NodeFacts, "nodeName" | "runtime">,
): readonly KubeadmSetting[] {
  return [
    {
      kind,
      path: ["nodeRegistration", "criSocket"],
      value: `unix://${runtime.socket}`,
      from: "the container runtime of this machine",
    },
    { kind, path: ["nodeRegistration", "name"], value: nodeName },
  ];
}

/** Fields of the kubelet's configuration that follow from the machine. */
export function kubeletFields({ runtime, cgroupVersion, swapOn, resolvConf }: NodeFacts) {
  return {
    // A containerd of our own makes groups itself; another one is asked for its driver.
    ...(runtime.kind === "own" ? { cgroupDriver: "cgroupfs" } : {}),
    ...(cgroupVersion === 1 ? { failCgroupV1: false } : {}),
    ...(swapOn ? { failSwapOn: false } : {}),
    ...(resolvConf === undefined ? {} : { resolvConf }),
  };
}

/** A setting for what the user asks for; none where nothing is asked for. */
export function given(
  kind: KubeadmSetting["kind"],
  path: KubeadmSetting["path"],
  value: string | undefined,
  from: string,
): readonly KubeadmSetting[] {
  return value === undefined ? [] : [{ kind, path, value, from }];
}
