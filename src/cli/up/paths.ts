// pure
/** Paths of `nodelet up`. Every path depends on one of five that the user can choose. */

/** The folders and files that the user can choose; absolute. */
export interface UpPlaces {
  /** State that outlives a reboot: own containerd, pods' folders, journal. */
  readonly stateDir: string;
  /** Sockets and process ids. */
  readonly runDir: string;
  readonly logDir: string;
  /** The `KubeletConfiguration`. */
  readonly config: string;
  /** Folder of pod manifests. */
  readonly manifests: string;
}

/** The places when nothing is chosen. */
export const DEFAULT_PLACES: UpPlaces = {
  stateDir: "/var/lib/nodelet",
  runDir: "/run/nodelet",
  logDir: "/var/log/nodelet",
  config: "/etc/nodelet/config.yaml",
  manifests: "/etc/nodelet/manifests",
};

/** The name of the agent's socket below the run folder. */
const AGENT_SOCKET = "agent.sock";

/** All paths of one installation. */
export interface UpPaths extends UpPlaces {
  /** The agent's `--root-dir`. */
  readonly agentRoot: string;
  readonly agentSocket: string;
  readonly agentLog: string;
  /** Folder of the API that the node has when it is in no cluster: objects, keys, certificates. */
  readonly api: string;
  /** Folder of the volumes that are made for claims in that API. */
  readonly volumes: string;
  /** The kubeconfig for kubectl to that API. */
  readonly kubeconfig: string;
  /** Notes of what `up` has made, for `down`. */
  readonly ledger: string;
  /** Process id of the `up` that watches over the agent. */
  readonly supervisor: string;
  readonly supervisorLog: string;
  readonly containerd: ContainerdPaths;
}

/** Paths of the containerd that `up` starts when it finds none to use. */
export interface ContainerdPaths {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly config: string;
  readonly log: string;
  /** Folder of network configurations. */
  readonly cniConfigs: string;
  /** Addresses given to pods. */
  readonly cniAddresses: string;
}

/** The paths of an installation at `places`. */
export function upPaths(places: UpPlaces): UpPaths {
  const { stateDir, runDir, logDir } = places;
  return {
    ...places,
    agentRoot: `${stateDir}/kubelet`,
    agentSocket: `${runDir}/${AGENT_SOCKET}`,
    agentLog: `${logDir}/agent.log`,
    api: `${stateDir}/api`,
    volumes: `${stateDir}/volumes`,
    kubeconfig: `${places.config.slice(0, places.config.lastIndexOf("/"))}/kubeconfig`,
    ledger: `${stateDir}/made.json`,
    supervisor: `${runDir}/up.json`,
    supervisorLog: `${logDir}/up.log`,
    containerd: {
      root: `${stateDir}/containerd`,
      state: `${runDir}/containerd`,
      socket: `${runDir}/containerd/containerd.sock`,
      config: `${stateDir}/containerd.toml`,
      log: `${logDir}/containerd.log`,
      cniConfigs: `${stateDir}/cni/net.d`,
      cniAddresses: `${stateDir}/cni/addresses`,
    },
  };
}

/** Longest path that a unix socket can have on Linux. */
const LONGEST_SOCKET = 107;

/** Why sockets cannot be made below the run folder; `undefined` when they can. */
export function socketObstacle(paths: UpPaths): string | undefined {
  const longest = paths.containerd.socket;
  if (longest.length <= LONGEST_SOCKET) return undefined;
  return `${longest} is longer than the ${LONGEST_SOCKET} bytes that a socket's path may have`;
}
