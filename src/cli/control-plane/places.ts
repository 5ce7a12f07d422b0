// pure
/** Where kubeadm keeps the files of a node, and the paths of an installation whose agent reads them. */
import type { UpPaths } from "../up/paths.ts";

/** Paths that kubeadm gives (cmd/kubeadm/app/constants). */
export const KUBEADM_FILES = {
  kubeletRoot: "/var/lib/kubelet",
  kubeletConfig: "/var/lib/kubelet/config.yaml",
  kubeletFlags: "/var/lib/kubelet/kubeadm-flags.env",
  bootstrapKubeconfig: "/etc/kubernetes/bootstrap-kubelet.conf",
  kubeconfig: "/etc/kubernetes/kubelet.conf",
  adminKubeconfig: "/etc/kubernetes/admin.conf",
  folder: "/etc/kubernetes",
  manifests: "/etc/kubernetes/manifests",
  certificates: "/etc/kubernetes/pki",
  etcd: "/var/lib/etcd",
  etcdManifest: "/etc/kubernetes/manifests/etcd.yaml",
} as const;

/** The paths of an installation on a node that kubeadm has set up: its agent's folder and configuration are kubeadm's. */
export function clusterPaths(paths: UpPaths): UpPaths {
  const { containerd } = paths;
  return {
    ...paths,
    config: KUBEADM_FILES.kubeletConfig,
    agentRoot: KUBEADM_FILES.kubeletRoot,
    // The folder of a node without a cluster has a network in it that is not the cluster's.
    containerd: { ...containerd, cniConfigs: `${paths.stateDir}/cni/cluster.d` },
  };
}

/** Path of the configuration that kubeadm gets, of the folder in which it finds its `kubelet`, of that with patches, and of the note of its process. */
export function kubeadmPlaces({ stateDir }: Pick<UpPaths, "stateDir">) {
  const folder = `${stateDir}/kubeadm`;
  return {
    folder,
    config: `${folder}/config.yaml`,
    programs: `${folder}/bin`,
    patches: `${folder}/patches`,
    running: `${folder}/running.json`,
  };
}

/** The agent's flags that name kubeadm's files, with those of `kubeadm-flags.env`. */
export function kubeletArguments(flagsFile: string): readonly string[] {
  return [
    `--bootstrap-kubeconfig=${KUBEADM_FILES.bootstrapKubeconfig}`,
    `--kubeconfig=${KUBEADM_FILES.kubeconfig}`,
    ...wordsOf(flagsFile),
  ];
}

/** The node's name by the text of `kubeadm-flags.env`. */
export function nodeNameIn(flagsFile: string, hostname: string): string {
  const flag = "--hostname-override=";
  const own = wordsOf(flagsFile).find((word) => word.startsWith(flag));
  return own === undefined ? hostname.toLowerCase() : own.slice(flag.length);
}

/** Words of KUBELET_KUBEADM_ARGS, as systemd takes the line apart; none when it is not there. */
function wordsOf(text: string): readonly string[] {
  const [, line = ""] = /^KUBELET_KUBEADM_ARGS=(.*)$/m.exec(text) ?? [];
  const unquoted = line.replace(/^"(.*)"$/, "$1");
  return unquoted.split(/\s+/).filter((word) => word !== "");
}
