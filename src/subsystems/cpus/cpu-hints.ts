// pure
/** From which sets of NUMA nodes a number of CPUs can be had. Source: policy_static.go generateCPUTopologyHints. */
import { countNodes, maskOf, type NodeMask } from "../../api/node/numa.ts";
import type { Hint, Hints } from "../../api/ports/hint-provider.ts";
import type { StaticPolicy } from "./static-policy.ts";

interface CpuAmount {
  readonly count: number;
  /** CPUs that may be taken. */
  readonly available: Iterable<number>;
  /** CPUs that are taken in any case. */
  readonly reusable: Iterable<number>;
}

/** What a set of nodes has. */
interface NodeCounts {
  readonly bit: NodeMask;
  readonly sockets: ReadonlySet<number>;
  readonly total: number;
  readonly available: number;
  readonly reusable: number;
}

/** Hints in the order of their sizes. An empty list: nowhere. */
export function cpuHints({ units, nodes, options }: StaticPolicy, amount: CpuAmount): Hints {
  const { count } = amount;
  const [available, reusable] = [new Set(amount.available), new Set(amount.reusable)];
  const each = units.node.map(
    ({ id, cpus }): NodeCounts => ({
      bit: maskOf([id], nodes),
      sockets: new Set(cpus.map((cpu) => units.cpus.get(cpu)?.socket ?? 0)),
      total: cpus.length,
      available: cpus.filter((cpu) => available.has(cpu) && !reusable.has(cpu)).length,
      reusable: cpus.filter((cpu) => reusable.has(cpu)).length,
    }),
  );
  let narrowest = each.length;
  const offered: { readonly mask: NodeMask; readonly sockets: number }[] = [];
  for (let index = 1; index < 2 ** each.length; index += 1) {
    const members = each.filter((_, at) => (index >> at) & 1);
    const sum = (part: "total" | "available" | "reusable") =>
      members.reduce((total, node) => total + node[part], 0);
    if (sum("total") >= count) narrowest = Math.min(narrowest, members.length);
    if (sum("reusable") < reusable.size || sum("reusable") + sum("available") < count) continue;
    offered.push({
      mask: members.reduce((mask, { bit }) => mask | bit, 0),
      sockets: new Set(members.flatMap(({ sockets }) => [...sockets])).size,
    });
  }
  const perSocket = each.length / units.socket.length;
  const fewestSockets = Math.ceil(narrowest / perSocket);
  return offered
    .map(({ mask, sockets }): Hint => {
      const aligned = options.alignSockets && sockets === fewestSockets;
      return { mask, preferred: countNodes(mask) === narrowest || aligned };
    })
    .sort((a, b) => countNodes(a.mask ?? 0) - countNodes(b.mask ?? 0));
}
