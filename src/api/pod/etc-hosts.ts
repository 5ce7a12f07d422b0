// pure
import type { HostAlias } from "../generated/types.ts";

const MANAGED = "# Kubernetes-managed hosts file.\n";
const MANAGED_HOST_NETWORK = "# Kubernetes-managed hosts file (host network).\n";

/** First lines of every managed hosts file (kubelet_pods.go managedHostsFileContent). */
const LOCAL_ENTRIES = [
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
];

/** Addresses and host name of the pod. */
interface HostsIdentity {
  /** Addresses of the pod, primary first. */
  readonly podIps: readonly string[];
  readonly hostname: string;
  /** Domain of the pod; empty when it has none. */
  readonly domain: string;
  readonly aliases: readonly HostAlias[];
}

/** /etc/hosts of a pod with a network of its own. */
export function hostsFile({ podIps, hostname, domain, aliases }: HostsIdentity): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const own = podIps.map((ip) => `${ip}\t${names}`);
  return `${MANAGED}${[...LOCAL_ENTRIES, ...own].join("\n")}\n${aliasLines(aliases)}`;
}

/** /etc/hosts of a pod on the node's network: the node's own, and the pod's aliases. */
export function hostNetworkHostsFile(ofNode: string, aliases: readonly HostAlias[]): string {
  return `${MANAGED_HOST_NETWORK}${ofNode}${aliasLines(aliases)}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join("\t"));
  return `\n# Entries added by HostAliases.\n${lines.join("\n")}\n`;
}
