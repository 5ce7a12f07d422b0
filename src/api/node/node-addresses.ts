// pure
/** Which addresses of nodes and pods are shown, and in which order. */
import type { Node } from "../generated/types.ts";

const isIPv6 = (ip: string): boolean => ip.includes(":");

/**
 * The addresses of a node by its object: internal ones before external ones, at most one of each family. Undefined as
 * long as the object has none (component-helpers GetNodeHostIPs).
 */
export function hostIpsOfNode(node: Node | undefined): readonly string[] | undefined {
  const all = node?.status?.addresses ?? [];
  const ofType = (wanted: string) =>
    all.flatMap((each) => (each.type === wanted ? each.address : []));
  const ips = [...ofType("InternalIP"), ...ofType("ExternalIP")];
  const [first] = ips;
  if (first === undefined) return undefined;
  const second = ips.find((ip) => isIPv6(ip) !== isIPv6(first));
  return second === undefined ? [first] : [first, second];
}

/**
 * At most one address of each family, the family of the node's first address before the other: an API server takes no
 * more (kubelet sortPodIPs).
 */
export function sortPodIps(ips: readonly string[], hostIps: readonly string[]): readonly string[] {
  const primary = isIPv6(hostIps[0] ?? "");
  const first = ips.find((ip) => isIPv6(ip) === primary);
  const second = ips.find((ip) => isIPv6(ip) !== primary);
  return [first, second].filter((ip) => ip !== undefined);
}

/** The addresses, and the node's second one where all are of the other family. */
export function withOtherFamily(
  ips: readonly string[],
  hostIps: readonly string[],
): readonly string[] {
  const second = hostIps[1];
  const isOther = second !== undefined && ips.every((ip) => isIPv6(ip) !== isIPv6(second));
  return ips.length === 1 && isOther ? [...ips, second] : ips;
}

/**
 * Message for a pod when the first address of its node is of another family than the previous one: the agent found that,
 * and a cloud's controller has chosen another. Undefined when it is of the same (kubelet_pods.go generateAPIPodStatus).
 */
export function familyMismatch(
  before: string | undefined,
  now: string | undefined,
): string | undefined {
  if (before === undefined || now === undefined || isIPv6(before) === isIPv6(now)) return undefined;
  const family = (ip: string) => (isIPv6(ip) ? "IPv6" : "IPv4");
  return `Kubelet detected an ${family(before)} node IP (${before}), but the cloud provider selected an ${family(now)} node IP (${now}); pass an explicit \`--node-ip\` to kubelet to fix this.`;
}
