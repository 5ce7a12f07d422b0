// pure
/** What the runtime's network library keeps on disk, and what the runtime says of its networks. */
import { isObject } from "../../config/tree.ts";

/** A network that a sandbox was given, as the library's cache has it (`cniCacheV1`). */
export interface GivenNetwork {
  readonly sandboxId: string;
  readonly network: string;
  readonly interfaceName: string;
  /** The configuration it was given with. */
  readonly config: NetworkConfig;
  /** Arguments of the plugins, `K=V;…`. */
  readonly args: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>>;
  /** Files of the network namespaces that hold its interfaces. */
  readonly namespaces: readonly string[];
}

/** One list of plugins, in the order in which they are added. */
export interface NetworkConfig {
  readonly cniVersion: string;
  readonly name: string;
  readonly plugins: readonly Readonly<Record<string, unknown>>[];
}

/** Names the pod's sandbox among the arguments that a Kubernetes runtime passes. */
const SANDBOX_ARGUMENT = "K8S_POD_INFRA_CONTAINER_ID";

/** Reads an entry of the cache; `undefined` when it is none, or was not made for a pod's sandbox. */
export function parseGivenNetwork(text: string): GivenNetwork | undefined {
  const entry = parseObject(text);
  const { containerId, networkName, ifName, cniArgs, capabilityArgs, result } = entry ?? {};
  if (entry?.["kind"] !== "cniCacheV1" || typeof containerId !== "string") return undefined;
  if (typeof networkName !== "string" || typeof ifName !== "string") return undefined;
  const pairs = (Array.isArray(cniArgs) ? cniArgs : []).filter(Array.isArray);
  const names = new Map(pairs.map(([name, value]) => [`${name}`, `${value}`]));
  const config = parseNetworkConfig(decodeBase64(`${entry["config"] ?? ""}`));
  if (names.get(SANDBOX_ARGUMENT) !== containerId || config === undefined) return undefined;
  const given = isObject(result) ? result : {};
  const interfaces = Array.isArray(given["interfaces"]) ? given["interfaces"] : [];
  const sandboxes = interfaces.map((each) => (isObject(each) ? each["sandbox"] : undefined));
  return {
    sandboxId: containerId,
    network: networkName,
    interfaceName: ifName,
    config,
    args: [...names].map(([name, value]) => `${name}=${value}`).join(";"),
    capabilities: isObject(capabilityArgs) ? capabilityArgs : {},
    result: given,
    namespaces: [...new Set(sandboxes.filter(isText))],
  };
}

/** Reads a list of plugins, or a single one as a list. */
export function parseNetworkConfig(text: string): NetworkConfig | undefined {
  const config = parseObject(text);
  const { name, cniVersion, plugins } = config ?? {};
  if (config === undefined || typeof name !== "string") return undefined;
  const list = Array.isArray(plugins) ? plugins.filter(isObject) : [config];
  return { name, cniVersion: isText(cniVersion) ? cniVersion : "0.1.0", plugins: list };
}

/** What the runtime says of its networks. */
export interface RuntimeNetworks {
  /** Folders of the plugins. */
  readonly folders: readonly string[];
  readonly configs: readonly NetworkConfig[];
}

/** Reads containerd's description of itself; nothing is known of other runtimes. */
export function parseRuntimeNetworks(
  description: Readonly<Record<string, string>>,
): RuntimeNetworks | undefined {
  const said = parseObject(description["cniconfig"] ?? "");
  const { PluginDirs: folders, Networks: networks } = said ?? {};
  if (!Array.isArray(folders) || !Array.isArray(networks)) return undefined;
  const configs = networks.flatMap((each) => {
    const config = isObject(each) ? each["Config"] : undefined;
    const source = isObject(config) ? config["Source"] : undefined;
    const read = isText(source) ? parseNetworkConfig(source) : undefined;
    return read ? [read] : [];
  });
  return { folders: folders.filter(isText), configs };
}

/** An address that the plugin host-local has given away: a file named after it, with whose it is. */
export interface Allocation {
  readonly network: string;
  readonly ip: string;
  readonly sandboxId: string;
  readonly interfaceName: string;
}

const IP = /^[0-9a-f.:]+$/;
/** Runtimes name their sandboxes so. */
const ID = /^[0-9a-f]{64}$/;

/** Reads one of host-local's files; `undefined` when it is no address of a sandbox. */
export function parseAllocation(
  network: string,
  file: string,
  text: string,
): Allocation | undefined {
  const [sandboxId = "", interfaceName = "eth0"] = text.split(/\r?\n/).map((line) => line.trim());
  if (!IP.test(file) || !ID.test(sandboxId)) return undefined;
  return { network, ip: file, sandboxId, interfaceName };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function decodeBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
  } catch {
    return "";
  }
}
