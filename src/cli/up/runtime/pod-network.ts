// pure
import type { ContainerdPaths } from "../paths.ts";

/**
 * Where the pods' network comes from: a network of the machine's own, the addresses that a cluster gives the node, or a network
 * plugin of the cluster.
 */
export type NetworkSource = "own" | "cluster" | "plugin";

/** Where network plugins of clusters put their configuration and their programs. */
export const PLUGIN_FOLDERS = { configs: "/etc/cni/net.d", programs: "/opt/cni/bin" } as const;

/** The bridge that pods of our own containerd hang on. */
export const BRIDGE = "nodelet0";

/** The bridge of pods whose addresses a cluster gives. */
export const CLUSTER_BRIDGE = "nodelet1";

/** File name of the network's configuration. */
export const NETWORK_FILE = "10-nodelet.conflist";

/** Networks that pods can get, in the order they are tried; private, and rarely in use. */
const CANDIDATES: readonly string[] = [
  "10.85.0.0/16",
  "10.117.0.0/16",
  "10.203.0.0/16",
  "172.29.0.0/16",
  "192.168.213.0/24",
];

/**
 * The first network for pods that overlaps with none of `taken` (IPv4 networks or addresses, like
 * `10.0.0.0/8`); `undefined` when all do.
 */
export function choosePodNetwork(taken: readonly string[]): string | undefined {
  return CANDIDATES.find((candidate) => !taken.some((other) => overlaps(candidate, other)));
}

/** Whether two IPv4 networks share an address; a text that is none overlaps with nothing. */
export function overlaps(a: string, b: string): boolean {
  const first = parseNetwork(a);
  const second = parseNetwork(b);
  if (first === undefined || second === undefined) return false;
  const bits = Math.min(first.bits, second.bits);
  // A shift by 32 would be none.
  const common = (address: number) => (bits === 0 ? 0 : address >>> (32 - bits));
  return common(first.address) === common(second.address);
}

function parseNetwork(text: string): { address: number; bits: number } | undefined {
  const [, a, b, c, d, bits = "32"] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(text) ?? [];
  const parts = [a, b, c, d].map(Number);
  if (a === undefined || parts.some((part) => !(part <= 255)) || Number(bits) > 32)
    return undefined;
  const address = parts.reduce((sum, part) => sum * 256 + part, 0);
  return { address, bits: Number(bits) };
}

interface PodNetworkOptions {
  /** IPv4 network of the pods, e.g. `10.85.0.0/16`, or what containerd puts the node's own into. */
  readonly subnet: string;
  /** Name of the bridge. */
  readonly bridge: string;
  /** Names of the CNI plugins there are. */
  readonly plugins: ReadonlySet<string>;
}

/** Where containerd puts the addresses of the node's pods into a template (its documentation, "CNI Config Template"). */
export const NODE_SUBNET = "{{.PodCIDR}}";

/**
 * The CNI configuration: a bridge with addresses of its own, ports of the node, and where the plugin is
 * there, leave to pass the node's packet filter.
 */
export function podNetworkConfig(paths: ContainerdPaths, options: PodNetworkOptions): string {
  const bridge = {
    type: "bridge",
    bridge: options.bridge,
    isGateway: true,
    ipMasq: true,
    hairpinMode: true,
    promiscMode: false,
    ipam: {
      type: "host-local",
      dataDir: paths.cniAddresses,
      ranges: [[{ subnet: options.subnet }]],
      routes: [{ dst: "0.0.0.0/0" }],
    },
  };
  const portmap = { type: "portmap", capabilities: { portMappings: true }, snat: true };
  const firewall = options.plugins.has("firewall") ? [{ type: "firewall" }] : [];
  const plugins = [bridge, portmap, ...firewall];
  return `${JSON.stringify({ cniVersion: "0.4.0", name: "nodelet", plugins }, null, 2)}\n`;
}

/** The subnet in a configuration that `podNetworkConfig` wrote. */
export function subnetOf(config: string): string | undefined {
  return /"subnet": "([0-9./]+)"/.exec(config)?.[1];
}
