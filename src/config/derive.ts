// pure

import { canonicalAddress } from "../api/text/ip.ts";
import { dns1123SubdomainFaults } from "../api/text/names.ts";
import { parseQuantity, quantityMicroValue } from "../api/text/quantity.ts";
import { isTree } from "../kit/json.ts";
import { parseCpuList } from "./cpu-list.ts";
import { DISABLED_SHARES } from "./eviction-thresholds.ts";
import { fieldAt } from "./fields/fields.ts";
import type { KubeletConfig, TextMap } from "./kubelet-config.ts";
import { type ConfigProblem, invalidValue, requiredValue } from "./problem.ts";

/** The node's name, or why there is none. */
type NodeNameReading =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly problem: ConfigProblem };

/**
 * The name of the node: `--hostname-override` or else the host name, without white space around it and in
 * lower case. Source: `GetHostname` of the Go kubelet's node utilities.
 */
export function deriveNodeName(hostname: string, override: string): NodeNameReading {
  const path = "--hostname-override";
  const chosen = override === "" ? hostname : override;
  const name = chosen.trim().toLowerCase();
  if (name === "") {
    const why = "empty hostname is invalid";
    return {
      ok: false,
      problem: requiredValue(path, why, "give the machine a host name, or set it"),
    };
  }
  if (dns1123SubdomainFaults(name).length === 0) return { ok: true, name };
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'";
  const fix = override === "" ? `set ${path} to a name of that form` : "";
  return { ok: false, problem: invalidValue(path, chosen, rule, fix) };
}

/**
 * The node's addresses as `--node-ip` says them, canonical; `0.0.0.0` and `::` only say which family is preferred.
 * Undefined when unset.
 */
export function deriveNodeIps(nodeIP: string): readonly string[] | undefined {
  const given = nodeIP
    .split(",")
    .map((address) => address.trim())
    .filter((address) => address !== "");
  return given.length === 0 ? undefined : given.map(canonicalAddress);
}

/** The folders and files beneath the agent's root, and the few that are elsewhere. Absolute paths. */
interface RootLayout {
  /** 0750, shared with the mounts of pods (rshared). */
  readonly root: string;
  /** One folder per pod, by uid; see `api/pod/pod-paths.ts`. 0750. */
  readonly pods: string;
  /** Volume plugins' own data. 0750. */
  readonly plugins: string;
  /** Folder of the sockets with which plugins register. 0750. */
  readonly pluginsRegistry: string;
  readonly podResources: { readonly directory: string; readonly socket: string };
  readonly podsApi: { readonly directory: string; readonly socket: string };
  /** Container checkpoints. 0700. */
  readonly checkpoints: string;
  readonly imageManager: { readonly pulling: string; readonly pulled: string };
  readonly seccomp: string;
  readonly state: {
    readonly cpuManager: string;
    readonly memoryManager: string;
    readonly draManager: string;
    readonly allocatedPods: string;
    readonly actuatedPods: string;
    readonly gracefulShutdown: string;
  };
  /** Fixed, whatever the root: device plugins have the path built in. */
  readonly devicePlugins: {
    readonly directory: string;
    readonly socket: string;
    readonly checkpoint: string;
  };
  readonly podLogs: string;
  /** Links to the containers' logs, for log collectors. */
  readonly containerLogs: string;
}

const DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins";

/** Lays out the folders below `rootDir`. Source: `setupDataDirs` and the getters of the Go kubelet. */
export function deriveRootLayout(rootDir: string, podLogsDir: string): RootLayout {
  const root = rootDir;
  const below = (name: string) => (root === "/" ? `/${name}` : `${root}/${name}`);
  return {
    root,
    pods: below("pods"),
    plugins: below("plugins"),
    pluginsRegistry: below("plugins_registry"),
    podResources: {
      directory: below("pod-resources"),
      socket: below("pod-resources/kubelet.sock"),
    },
    podsApi: {
      directory: below("pods-api"),
      socket: below("pods-api/pods-api.sock"),
    },
    checkpoints: below("checkpoints"),
    imageManager: {
      pulling: below("image_manager/pulling"),
      pulled: below("image_manager/pulled"),
    },
    seccomp: below("seccomp"),
    state: {
      cpuManager: below("cpu_manager_state"),
      memoryManager: below("memory_manager_state"),
      draManager: below("dra_manager_state"),
      allocatedPods: below("allocated_pods_state"),
      actuatedPods: below("actuated_pods_state"),
      gracefulShutdown: below("graceful_node_shutdown_state"),
    },
    devicePlugins: {
      directory: DEVICE_PLUGINS,
      socket: `${DEVICE_PLUGINS}/kubelet.sock`,
      checkpoint: `${DEVICE_PLUGINS}/kubelet_internal_checkpoint`,
    },
    podLogs: podLogsDir,
    containerLogs: "/var/log/containers",
  };
}

/** The hard eviction thresholds of an empty file. */
export const DEFAULT_EVICTION_HARD: TextMap = textMap(fieldAt("evictionHard")?.default);

function textMap(value: unknown): TextMap {
  return isTree(value)
    ? Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]))
    : {};
}

/**
 * The hard thresholds that hold: those configured, with the defaults of the signals not named when
 * `mergeDefaultEvictionSettings` is on.
 */
export function deriveEvictionHard(
  config: Pick<KubeletConfig, "evictionHard" | "mergeDefaultEvictionSettings">,
): TextMap {
  return withoutDisabledSignals(
    config.mergeDefaultEvictionSettings
      ? { ...DEFAULT_EVICTION_HARD, ...config.evictionHard }
      : config.evictionHard,
  );
}

/** Thresholds without those that `0%` or `100%` switches off. */
export function withoutDisabledSignals(thresholds: TextMap): TextMap {
  return Object.fromEntries(
    Object.entries(thresholds).filter(([, amount]) => !DISABLED_SHARES.includes(amount)),
  );
}

/** What is kept from pods, as it counts. */
type Reservations = Pick<KubeletConfig, "systemReserved" | "kubeReserved">;

/**
 * Both reservations: CPUs that are reserved by number replace both amounts of cpu, which are whole millicores, rounded
 * half up. Source: kubelet app server.run, parseResourceList.
 */
export function deriveReservations({
  systemReserved,
  kubeReserved,
  reservedSystemCPUs,
}: Reservations & Pick<KubeletConfig, "reservedSystemCPUs">): Reservations {
  const list = parseCpuList(reservedSystemCPUs);
  if (reservedSystemCPUs === "" || !list.ok)
    return {
      systemReserved: wholeMillicores(systemReserved),
      kubeReserved: wholeMillicores(kubeReserved),
    };
  const { cpu: _, ...kubeRest } = kubeReserved;
  return {
    systemReserved: { ...systemReserved, cpu: String(list.cpus.length) },
    kubeReserved: kubeRest,
  };
}

function wholeMillicores(reservation: TextMap): TextMap {
  const { cpu } = reservation;
  if (cpu === undefined) return reservation;
  const micro = quantityMicroValue(parseQuantity(cpu));
  return { ...reservation, cpu: `${(micro + 500n) / 1000n}m` };
}

/** The runtime's endpoint as a URL; kubeadm once wrote a path only. */
export function deriveRuntimeEndpoint(config: KubeletConfig): string {
  return endpointUrl(config.containerRuntimeEndpoint);
}

/** The socket of the image service: the runtime's when none is set. */
export function deriveImageEndpoint(config: KubeletConfig): string {
  const { imageServiceEndpoint: own } = config;
  return own === "" ? deriveRuntimeEndpoint(config) : endpointUrl(own);
}

const endpointUrl = (endpoint: string): string =>
  endpoint.startsWith("/") ? `unix://${endpoint}` : endpoint;

/** The path of a `unix:` endpoint; a bare path is one too. */
export function socketPathOf(endpoint: string): string {
  return endpoint.replace(/^unix:(\/\/)?/, "");
}

/** The cgroup that `kubepods` is made under. */
export function deriveCgroupRoot(config: KubeletConfig): string {
  return config.cgroupsPerQOS && config.cgroupRoot === "" ? "/" : config.cgroupRoot;
}

/** The most pods on the node: `maxPods`, and `podsPerCore` for each CPU when that is less. */
export function deriveMaxPods(config: KubeletConfig, cpuCount: number): number {
  return config.podsPerCore > 0
    ? Math.min(config.podsPerCore * cpuCount, config.maxPods)
    : config.maxPods;
}
