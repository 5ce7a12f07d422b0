// pure
/** Chains that other programs expect of a node's agent (kubelet_network_linux.go). */

/** Which program: of IPv4 or of IPv6. */
export type IptablesProgram = "iptables" | "ip6tables";

/** A required chain or rule, with the arguments that check for it and those that create it. */
export interface RequiredRule {
  /** In the words of the Go kubelet's log, behind "Failed to ensure". */
  readonly what: string;
  /** Ends with 0 when it is there, with 1 when it is not. */
  readonly asks: readonly string[];
  readonly makes: readonly string[];
}

/** Tables with a canary, which is missing after a flush of all chains (iptables.Monitor). */
export const CANARY_TABLES = ["mangle", "nat", "filter"] as const;
const CANARY = "KUBE-KUBELET-CANARY";
/** By the table in which it is others see which iptables the node uses. */
const HINT = "KUBE-IPTABLES-HINT";
const FIREWALL = "KUBE-FIREWALL";
/** Packets from elsewhere to the loopback, which node ports on localhost would let in (kubernetes#90259). */
const BLOCK_LOCALNET = [
  ...["-m", "comment", "--comment", "block incoming localnet connections"],
  ...["--dst", "127.0.0.0/8", "!", "--src", "127.0.0.0/8"],
  ...["-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "DROP"],
];

const chain = (table: string, name: string, what: string): RequiredRule => ({
  what,
  asks: ["-S", name, "-t", table],
  makes: ["-N", name, "-t", table],
});

/** `place`: -I puts the rule first, -A last. */
const rule = (
  place: "-I" | "-A",
  of: string,
  args: readonly string[],
  what: string,
): RequiredRule => ({
  what,
  asks: ["-C", of, "-t", "filter", ...args],
  makes: [place, of, "-t", "filter", ...args],
});

/** Required chains and rules in the order of their creation. */
export function nodeChains(program: IptablesProgram): readonly RequiredRule[] {
  const hint = chain("mangle", HINT, "that iptables hint chain exists");
  if (program === "ip6tables") return [hint];
  const jumps = (from: string) => `that ${from} chain jumps to ${FIREWALL}`;
  return [
    hint,
    chain("filter", FIREWALL, `that filter table ${FIREWALL} chain exists`),
    rule("-I", "OUTPUT", ["-j", FIREWALL], jumps("OUTPUT")),
    rule("-I", "INPUT", ["-j", FIREWALL], jumps("INPUT")),
    rule("-A", FIREWALL, BLOCK_LOCALNET, `rule to drop invalid localhost packets in ${FIREWALL}`),
  ];
}

/** The canary of a table. */
export function canary(table: (typeof CANARY_TABLES)[number]): RequiredRule {
  return chain(table, CANARY, `iptables canary in table ${table}`);
}
