// pure
/** Routes to the pods of the other nodes of a cluster, when all nodes share a network. */
import type { Node } from "../../api/generated/types.ts";

/** A route to the pods of another node. */
export interface PodRoute {
  /** Addresses of the node's pods, like `10.85.1.0/24`. */
  readonly pods: string;
  /** Address of the node. */
  readonly via: string;
  readonly node: string;
}

/** Routes to the pods of all nodes but our own, by their addresses; a node without addresses for pods has none yet. */
export function planRoutes(nodes: Iterable<Node>, ownName: string): readonly PodRoute[] {
  const routes = [...nodes].flatMap(({ metadata, spec, status }): PodRoute[] => {
    const node = metadata?.name ?? "";
    const pods = ipv4Of(spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]));
    const internal = (status?.addresses ?? []).filter(({ type }) => type === "InternalIP");
    const via = ipv4Of(internal.map(({ address }) => address ?? ""));
    return node === ownName || pods === undefined || via === undefined ? [] : [{ pods, via, node }];
  });
  return routes.toSorted((a, b) => (a.pods < b.pods ? -1 : 1));
}

function ipv4Of(addresses: readonly string[]): string | undefined {
  return addresses.find((address) => /^\d+\.\d+\.\d+\.\d+(?:\/\d+)?$/.test(address));
}

/** What has to change so that exactly these routes are there, of those that we have made before. */
export function routeChanges(
  made: ReadonlyMap<string, string>,
  wanted: readonly PodRoute[],
): { readonly add: readonly PodRoute[]; readonly remove: readonly string[] } {
  const byPods = new Map(wanted.map((route) => [route.pods, route]));
  return {
    add: wanted.filter(({ pods, via }) => made.get(pods) !== via),
    remove: [...made].flatMap(([pods, via]) => (byPods.get(pods)?.via === via ? [] : [pods])),
  };
}

/** Gateways by destination, from the output of `ip route show`. */
export function routesIn(text: string): ReadonlyMap<string, string> {
  const found = text.split("\n").flatMap((line): (readonly [string, string])[] => {
    const [, pods, via] = /^(\S+) via (\S+) /.exec(line) ?? [];
    return pods === undefined || via === undefined ? [] : [[pods, via]];
  });
  return new Map(found);
}

/** The chain in which packets between pods of two nodes are spared from getting the node's address. */
export const PODS_CHAIN = "NODELET-PODS";

/** Packets that kube-proxy wants to have the node's address carry this mark. */
const PROXY_MARK = "0x4000/0x4000";

/** Input of iptables-restore: between pods no address changes, to others the network of the node gives them its own. */
export function podRules(routes: readonly PodRoute[]): string {
  const rules = routes.map(
    ({ pods }) => `-A ${PODS_CHAIN} -d ${pods} -m mark ! --mark ${PROXY_MARK} -j ACCEPT`,
  );
  return ["*nat", `:${PODS_CHAIN} - [0:0]`, ...rules, "COMMIT", ""].join("\n");
}
