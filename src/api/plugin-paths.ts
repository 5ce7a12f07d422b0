// pure

/** Folder of local volumes below a pod's `volumes` and `volumeDevices`. */
export const LOCAL_PLUGIN = "kubernetes.io~local-volume";

/** Folder of volumes of CSI drivers below a pod's `volumes` and `volumeDevices`. */
export const CSI_PLUGIN = "kubernetes.io~csi";

/** Folder of volumes of file servers below a pod's `volumes`. */
export const NFS_PLUGIN = "kubernetes.io~nfs";

/** Paths of local volumes that pods share, below the agent's root (layout of the Go kubelet). */
interface LocalVolumePaths {
  /** File systems of devices, `<volume>` (local.go generateBlockDeviceBaseGlobalPath). */
  readonly mounts: string;
  /** Nodes of devices, `<volume>/<pod uid>` (volumepathhandler MapDevice). */
  readonly nodes: string;
}

/** The paths of local volumes below the absolute root. */
export function localVolumePaths(root: string): LocalVolumePaths {
  return {
    mounts: `${root}/plugins/kubernetes.io/local-volume/mounts`,
    nodes: `${root}/plugins/${LOCAL_PLUGIN}/volumeDevices`,
  };
}
