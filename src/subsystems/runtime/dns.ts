// pure
import type { Pod, PodDNSConfigOption } from "../../api/generated/types.ts";
import { UsageError } from "../../kit/errors.ts";
import type { PodDns } from "./sandbox-config.ts";

/** The resolvers a pod can get: the cluster's and the node's. */
export interface ClusterDns {
  readonly servers: readonly string[];
  readonly domain: string;
  /** Contents of the node's own resolv.conf; empty where the node has none configured. */
  readonly host: PodDns;
  /** The node's addresses where it has no resolv.conf configured: pods of its resolver get its loopback. */
  readonly nodeIps?: readonly string[];
  /** Path of the node's own resolv.conf where a runtime without a DNS configuration would not use the same one. */
  readonly path?: string;
}

/** Limits of the kubelet for what it writes into a pod's resolv.conf. */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARS = 2048;
/** Longest single domain: there are resolvers that abort at longer ones. */
const MAX_DOMAIN_CHARS = 253;
/** Search domains that a cluster adds. */
const CLUSTER_SEARCHES = 3;
const CLUSTER_OPTIONS = ["ndots:5"];

/**
 * Reads a resolv.conf; later `search` lines replace earlier ones, as the resolver does, and later options
 * those of the same name. A lone `.` says that nothing is searched: pods get no search domain, as musl would
 * otherwise resolve nothing. `UsageError` for a `nameserver` without an address (network/dns parseResolvConf).
 */
export function parseResolvConf(text: string): PodDns {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line
      .replace(/[#;].*$/, "")
      .trim()
      .split(/\s+/);
    if (keyword === "nameserver") {
      if (values[0] === undefined)
        throw new UsageError(
          "Encountered error while parsing resolv conf file. Error: nameserver list is empty ",
        );
      servers.push(values[0]);
    } else if (keyword === "search")
      searches = values.filter((value) => value !== ".").map((value) => value.replace(/\.$/, ""));
    else if (keyword === "options")
      for (const option of values) options.set(option.split(":")[0] ?? "", option);
  }
  return { servers, searches, options: [...options.values()] };
}

/** What a pod's sandbox is made with. `UsageError` where the runtime would take another file than the configured one. */
export function sandboxDns(pod: Pod, cluster: ClusterDns): PodDns {
  const dns = podDns(pod, cluster);
  if (cluster.path !== undefined && isEmpty(dns))
    throw new UsageError(
      `resolvConf: ${cluster.path} has no nameserver, search or options, and the container runtime would use /etc/resolv.conf instead: add what pods are to get, or name another file`,
    );
  return dns;
}

const isEmpty = ({ servers, searches, options }: PodDns): boolean =>
  servers.length + searches.length + options.length === 0;

/** Nothing at all. */
export const NO_DNS: PodDns = { servers: [], searches: [], options: [] };

/** Resolver of pods of the node's own when that has none configured: its loopback, and no search (GetPodDNS). */
export function noResolver(nodeIps: readonly string[]): PodDns {
  const servers = [...new Set(nodeIps.map((ip) => (ip.includes(":") ? "::1" : "127.0.0.1")))];
  return { servers: servers.length > 0 ? servers : ["127.0.0.1"], searches: ["."], options: [] };
}

/**
 * The resolver of a pod by its policy (network/dns GetPodDNS), with what the pod itself asks for; a
 * missing cluster DNS falls back to the node's.
 */
export function podDns(pod: Pod, cluster: ClusterDns): PodDns {
  return limited(unlimitedDns(pod, cluster));
}

function usesClusterDns({ spec }: Pod): boolean {
  const policy = spec?.dnsPolicy ?? "ClusterFirst";
  if (policy === "ClusterFirst") return spec?.hostNetwork !== true;
  return policy === "ClusterFirstWithHostNet";
}

/**
 * Why a pod gets the node's resolver although it asks for the cluster's, in the words of the event
 * MissingClusterDNS about the node; `undefined` when it gets what it asks for.
 */
export function missingClusterDns(pod: Pod, { servers }: ClusterDns): string | undefined {
  if (!usesClusterDns(pod) || servers.length > 0) return undefined;
  return 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
}

function unlimitedDns(pod: Pod, cluster: ClusterDns): PodDns {
  const base = policyDns(pod, cluster);
  const { nameservers = [], searches = [], options = [] } = pod.spec?.dnsConfig ?? {};
  if (nameservers.length + searches.length + options.length === 0) return base;
  return {
    servers: [...new Set([...base.servers, ...nameservers])],
    searches: [...new Set([...base.searches, ...searches])],
    options: mergedOptions(base.options, options),
  };
}

/** Options of the pod go before those of the same name (network/dns mergeDNSOptions). */
function mergedOptions(
  base: readonly string[],
  own: readonly PodDNSConfigOption[],
): readonly string[] {
  const merged = new Map(base.map((option) => [option.split(":")[0] ?? "", option] as const));
  for (const { name = "", value } of own)
    merged.set(name, value === undefined || value === "" ? name : `${name}:${value}`);
  return [...merged.values()];
}

function policyDns(pod: Pod, cluster: ClusterDns): PodDns {
  if (pod.spec?.dnsPolicy === "None") return NO_DNS;
  if (!usesClusterDns(pod) || cluster.servers.length === 0)
    return cluster.nodeIps ? noResolver(cluster.nodeIps) : reachableHost(pod, cluster.host);
  const namespace = pod.metadata?.namespace ?? "default";
  const searches =
    cluster.domain === ""
      ? cluster.host.searches
      : [
          `${namespace}.svc.${cluster.domain}`,
          `svc.${cluster.domain}`,
          cluster.domain,
          ...cluster.host.searches,
        ];
  return { servers: cluster.servers, searches: [...new Set(searches)], options: CLUSTER_OPTIONS };
}

const SCOPED_LINK_LOCAL = /^fe[89ab][0-9a-f]?:[^%]*%/i;

/**
 * The node's resolver as a pod can reach it: a link-local address with a scope names an interface of the node, which a
 * network of its own has not (Kubernetes 1.38 drops them).
 */
function reachableHost({ spec }: Pod, host: PodDns): PodDns {
  if (spec?.hostNetwork === true) return host;
  const servers = host.servers.filter((server) => !SCOPED_LINK_LOCAL.test(server));
  return servers.length === host.servers.length ? host : { ...host, servers };
}

/** Entries omitted from the pod's resolv.conf: messages of the event DNSConfigForming. */
export function dnsFaults(pod: Pod, cluster: ClusterDns): readonly string[] {
  const requested = unlimitedDns(pod, cluster);
  const applied = limited(requested);
  return [
    ...(applied.servers.length < requested.servers.length
      ? [
          `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${applied.servers.join(" ")}`,
        ]
      : []),
    ...(applied.searches.length < requested.searches.length
      ? [
          `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${applied.searches.join(" ")}`,
        ]
      : []),
  ];
}

/** Limits that the node's own resolv.conf exceeds; `undefined` when within them (CheckLimitsForResolvConf). */
export function resolvConfFault(path: string, { host, domain }: ClusterDns): string | undefined {
  const most = domain === "" ? MAX_SEARCHES : MAX_SEARCHES - CLUSTER_SEARCHES;
  if (host.searches.length > most)
    return `Resolv.conf file '${path}' contains search line consisting of more than ${most} domains!`;
  if (host.searches.some((search) => search.length > MAX_DOMAIN_CHARS))
    return `Resolv.conf file "${path}" contains a search path which length is more than allowed ${MAX_DOMAIN_CHARS} chars!`;
  if (host.searches.join(" ").length > MAX_SEARCH_CHARS)
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${MAX_SEARCH_CHARS} chars!`;
  return undefined;
}

function limited(dns: PodDns): PodDns {
  const searches: string[] = [];
  let chars = 0;
  for (const search of dns.searches.slice(0, MAX_SEARCHES)) {
    if (search.length > MAX_DOMAIN_CHARS) continue;
    chars += search.length + (searches.length > 0 ? 1 : 0);
    if (chars > MAX_SEARCH_CHARS) break;
    searches.push(search);
  }
  return { servers: dns.servers.slice(0, MAX_SERVERS), searches, options: dns.options };
}
