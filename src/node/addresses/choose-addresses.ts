// pure
/** Which addresses a node shows (kubelet nodestatus/setters.go NodeAddress). */

import { canonicalAddress, isIP, isUnspecified } from "../../api/text/ip.ts";
import { nodeAddressFault } from "../../config/flags/validate-flags.ts";

/** Inputs of the choice. All addresses are canonical. */
export interface AddressFacts {
  /** `--node-ip`; empty when unset. An unspecified address says which family is preferred. */
  readonly given: readonly string[];
  readonly nodeName: string;
  /** Addresses of the node's name from DNS and /etc/hosts. */
  readonly named: readonly string[];
  /** Addresses of the machine, those of the default routes first, IPv4 before IPv6. */
  readonly found: readonly string[];
}

/** The chosen addresses, primary first, or why there are none. */
type ChosenAddresses =
  | { readonly kind: "chosen"; readonly ips: readonly string[] }
  | { readonly kind: "none"; readonly problem: string };

/** The addresses given by the user, without those that only name the preferred family. */
export function specifiedIps(given: readonly string[]): readonly string[] {
  return given.filter((ip) => !isUnspecified(ip));
}

/** Whether a DNS lookup is needed: neither `--node-ip` nor the node's name is an address. */
export function needsDns({ given, nodeName }: Pick<AddressFacts, "given" | "nodeName">): boolean {
  return specifiedIps(given).length === 0 && !isIP(nodeName);
}

/**
 * The node's addresses: what the user gave; else the node's name, where it is an address; else what DNS says of the
 * name, as far as the machine has it; else that of the default route. IPv4 is preferred unless `--node-ip` is IPv6.
 */
export function chooseAddresses(facts: AddressFacts): ChosenAddresses {
  const { given, nodeName, named, found } = facts;
  const specified = specifiedIps(given);
  if (specified.length > 0) {
    const [fault] = specified.flatMap((ip) => nodeAddressFault(ip, found) ?? []);
    return fault === undefined
      ? { kind: "chosen", ips: specified }
      : { kind: "none", problem: `failed to validate nodeIP: ${fault}` };
  }
  if (isIP(nodeName)) return { kind: "chosen", ips: [canonicalAddress(nodeName)] };
  const prefersV6 = given[0]?.includes(":") ?? false;
  const isPreferred = (ip: string) => ip.includes(":") === prefersV6;
  const valid = named.filter((ip) => nodeAddressFault(ip, found) === undefined);
  for (const candidates of [valid, found]) {
    const ip = candidates.find(isPreferred) ?? candidates[0];
    if (ip !== undefined) return { kind: "chosen", ips: [ip] };
  }
  return {
    kind: "none",
    problem: `can't get ip address of node ${nodeName}: the machine has none`,
  };
}
