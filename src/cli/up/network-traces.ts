/** Rules and interfaces that CNI plugins and the agent leave behind, to be removed by `down`. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findProgram, searchPath } from "../../process/programs.ts";

const run = promisify(execFile);

const PROGRAMS = ["iptables", "ip6tables"] as const;
const TABLES = ["filter", "nat", "mangle"] as const;
const WAIT = ["-w", "10"] as const;

/** One line of `iptables -S`. */
interface FilterRule {
  readonly kind: "chain" | "rule";
  readonly chain: string;
  /** The chain a rule leads to. */
  readonly target: string | undefined;
  /** The line behind `-A`, taken apart as a shell would. */
  readonly words: readonly string[];
}

/** Reads the output of `iptables -S`. */
export function parseRules(text: string): readonly FilterRule[] {
  return text.split("\n").flatMap((line): FilterRule[] => {
    const [kind, ...words] = splitWords(line);
    const [chain = ""] = words;
    if (kind === "-N") return [{ kind: "chain", chain, target: undefined, words }];
    if (kind !== "-A") return [];
    const jump = words.indexOf("-j");
    return [{ kind: "rule", chain, target: jump < 0 ? undefined : words[jump + 1], words }];
  });
}

/** Words of a line, `"…"` kept together as iptables prints comments. */
function splitWords(line: string): readonly string[] {
  const words = line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  return words.map((word) =>
    word.startsWith('"') ? word.slice(1, -1).replaceAll('\\"', '"') : word,
  );
}

/** Names that the CNI plugins give their chains, and the agent its own (`makeIPTablesUtilChains`). */
const CHAINS = {
  agent: /^KUBE-(FIREWALL|IPTABLES-HINT|KUBELET-CANARY)$/,
  "agent and CNI plugins": /^(CNI-.*|KUBE-(FIREWALL|IPTABLES-HINT|KUBELET-CANARY))$/,
  "cluster and CNI plugins": /^(CNI|KUBE|NODELET)-.*$/,
} as const;

interface Table {
  readonly program: (typeof PROGRAMS)[number];
  readonly name: (typeof TABLES)[number];
}

const ALL_TABLES: readonly Table[] = PROGRAMS.flatMap((program) =>
  TABLES.map((name) => ({ program, name })),
);

/** `nat/CNI-1`, of IPv6 `ip6tables/nat/CNI-1`. */
const shown = ({ program, name }: Table, chain: string): string =>
  program === "iptables" ? `${name}/${chain}` : `${program}/${name}/${chain}`;

/** The chains of CNI plugins, of agents and of the proxy of Services; empty where there is no iptables. */
export async function ownChains(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of ALL_TABLES)
    for (const { kind, chain } of await rulesOf(table))
      if (kind === "chain" && CHAINS["cluster and CNI plugins"].test(chain))
        found.push(shown(table, chain));
  return found;
}

/**
 * Removes such chains that were not there before, with the rules that lead to them. Where others use the containerd, too,
 * new chains of CNI plugins may be theirs: then only those `of` the agent go.
 */
export async function removeChains(
  before: readonly string[],
  of: keyof typeof CHAINS,
): Promise<void> {
  const known = new Set(before);
  for (const table of ALL_TABLES) {
    const rules = await rulesOf(table);
    const fresh = rules
      .filter(({ kind, chain }) => kind === "chain" && CHAINS[of].test(chain))
      .map(({ chain }) => chain)
      .filter((chain) => !known.has(shown(table, chain)));
    for (const { kind, target, words } of rules) {
      if (kind === "rule" && fresh.includes(target ?? "")) await iptables(table, ["-D", ...words]);
    }
    for (const chain of fresh) await iptables(table, ["-F", chain]);
    for (const chain of fresh) await iptables(table, ["-X", chain]);
  }
}

/** Removes a bridge; nothing happens when there is none. */
export async function removeBridge(name: string): Promise<void> {
  const ip = findProgram("ip");
  if (ip === undefined) return;
  await run(ip, ["link", "delete", name, "type", "bridge"]).catch(() => {});
}

async function rulesOf(table: Table): Promise<readonly FilterRule[]> {
  return parseRules(await iptables(table, ["-S"]));
}

/** Output of iptables; empty when it is missing or refuses. */
async function iptables(table: Table, words: readonly string[]): Promise<string> {
  const program = findProgram(table.program);
  if (program === undefined) return "";
  const argv = [...WAIT, "-t", table.name, ...words];
  return await run(program, argv, { env: { PATH: searchPath() } }).then(
    ({ stdout }) => stdout,
    () => "",
  );
}
