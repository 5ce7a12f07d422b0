// pure
import type { MachineReport } from "../up/checks.ts";
import type { KubeadmSetting } from "./kubeadm-config.ts";
import type { ClusterChoices } from "./request.ts";

/** What follows from the machine. */
interface MachineFacts {
  readonly nodeName: string;
  readonly runtime: Pick<MachineReport["runtime"], "kind" | "socket">;
  readonly cgroupVersion: 1 | 2;
  readonly swapOn: boolean;
  /** The file with the node's real name servers, where `/etc/resolv.conf` only names a local stub. */
  readonly resolvConf: string | undefined;
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
  const { serviceCidr, imageRepository } = options;
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
  ];
}

function nodeSettings(
  { apiAddress }: ClusterChoices,
  machine: MachineFacts,
): readonly KubeadmSetting[] {
  const { nodeName, runtime, cgroupVersion, swapOn, resolvConf } = machine;
  const init = "InitConfiguration";
  const kubelet = "KubeletConfiguration";
  return [
    {
      kind: init,
      path: ["nodeRegistration", "criSocket"],
      value: `unix://${runtime.socket}`,
      from: "the container runtime of this machine",
    },
    { kind: init, path: ["nodeRegistration", "name"], value: nodeName },
    // The only node of the cluster runs everybody's pods.
    { kind: init, path: ["nodeRegistration", "taints"], value: [] },
    ...given(init, ["localAPIEndpoint", "advertiseAddress"], apiAddress, "--api-address"),
    // A containerd of our own makes groups itself; another one is asked for its driver.
    ...(runtime.kind === "own"
      ? [{ kind: kubelet, path: ["cgroupDriver"], value: "cgroupfs" } as const]
      : []),
    ...(cgroupVersion === 1
      ? [{ kind: kubelet, path: ["failCgroupV1"], value: false } as const]
      : []),
    ...(swapOn ? [{ kind: kubelet, path: ["failSwapOn"], value: false } as const] : []),
    ...(resolvConf === undefined
      ? []
      : [{ kind: kubelet, path: ["resolvConf"], value: resolvConf } as const]),
  ];
}

function given(
  kind: KubeadmSetting["kind"],
  path: KubeadmSetting["path"],
  value: string | undefined,
  from: string,
): readonly KubeadmSetting[] {
  return value === undefined ? [] : [{ kind, path, value, from }];
}
