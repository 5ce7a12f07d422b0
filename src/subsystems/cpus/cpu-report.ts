// pure
/** The machine's CPUs with who has them: `/nodelet/v1/cpus`. */
import type { LogicalCpu, MachineTopology } from "../../api/node/machine-topology.ts";
import type { PodUid } from "../../api/pod-identity.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import { largest } from "../../kit/limits/lists.ts";
import { type CpuState, sortedCpus } from "./cpu-state.ts";
import type { StaticPolicy } from "./static-policy.ts";
import { type Unit, unitsOf } from "./take/units.ts";

/** Containers of one pod that have a CPU for themselves, one after the other where there are several. */
interface CpuOwner {
  readonly podUid: string;
  /** Empty for a pod that no source names any more. */
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly string[];
}

/** One thread of the machine. Its place is missing where the kernel names none, as for CPUs that were offline at the start. */
export interface ReportedCpu extends Partial<Omit<LogicalCpu, "id">> {
  readonly id: number;
  /**
   * `reserved`: never given to a container for itself. `shared`: in the shared pool, and may be given. `unused`: online since the
   * agent began, and used once it was started again.
   */
  readonly state: "exclusive" | "shared" | "reserved" | "offline" | "unused";
  readonly owner?: CpuOwner;
}

/** What a NUMA node has left; lists are written like `0-3,8`. */
interface ReportedNode {
  readonly id: number;
  readonly sockets: readonly number[];
  readonly cpus: string;
  /** CPUs that may be given. */
  readonly free: string;
  /** Whole cores of these. */
  readonly wholeCores: number;
  /** Free CPUs of cores that are not free as a whole. */
  readonly stray: string;
  /** Most free CPUs in one L3 cache of the node. */
  readonly largestCache: number;
}

/** All CPUs at one moment. */
export interface CpuReport {
  readonly policy: "none" | "static";
  /** Options of the policy that are on. */
  readonly options: readonly string[];
  readonly reserved: string;
  readonly shared: string;
  readonly nodes: readonly ReportedNode[];
  readonly cpus: readonly ReportedCpu[];
}

/** The machine as it is now. */
export interface CpuMachine {
  readonly topology: MachineTopology;
  readonly offline: readonly number[];
}

interface ReportSources {
  readonly machine: CpuMachine;
  readonly policy: StaticPolicy | undefined;
  readonly state: CpuState;
  /** The pod's names; `undefined` for one that is not known. */
  readonly nameOf: (
    uid: PodUid,
  ) => { readonly namespace: string; readonly name: string } | undefined;
}

/** Without a policy all CPUs are shared. */
export function reportCpus(sources: ReportSources): CpuReport {
  const { machine, policy, state } = sources;
  const online = machine.topology.cpus;
  const shared = policy ? state.shared : online.map(({ id }) => id);
  const reserved = policy?.reserved ?? [];
  const [isShared, isReserved] = [new Set(shared), new Set(reserved)];
  const owners = ownersOf(sources);
  const stateOf = (id: number): ReportedCpu["state"] => {
    if (owners.has(id)) return "exclusive";
    if (isReserved.has(id)) return "reserved";
    return isShared.has(id) ? "shared" : "unused";
  };
  const present = new Map(online.map((cpu) => [cpu.id, cpu]));
  const ids = sortedCpus([...present.keys(), ...machine.offline, ...owners.keys(), ...reserved]);
  const cpus = ids.map((id): ReportedCpu => {
    const owner = owners.get(id);
    const place = present.get(id) ?? policy?.units.cpus.get(id);
    const its = present.has(id) ? stateOf(id) : "offline";
    return { ...(place ?? { id }), state: its, ...(owner ? { owner } : {}) };
  });
  const free = new Set(cpus.filter((cpu) => cpu.state === "shared").map(({ id }) => id));
  return {
    policy: policy ? "static" : "none",
    options: optionNames(policy),
    reserved: formatCpuList(reserved),
    shared: formatCpuList(shared),
    nodes: nodesOf(machine.topology, free),
    cpus,
  };
}

function ownersOf({ state, nameOf }: ReportSources): ReadonlyMap<number, CpuOwner> {
  const owners = new Map<number, CpuOwner>();
  for (const [podUid, containers] of state.pods) {
    const { namespace = "", name = "" } = nameOf(podUid) ?? {};
    for (const [container, cpus] of containers)
      for (const cpu of cpus) {
        const others = owners.get(cpu)?.containers ?? [];
        owners.set(cpu, { podUid, namespace, name, containers: [...others, container] });
      }
    // What no container of the pod has is the pod's all the same.
    for (const cpu of state.wholePods?.get(podUid) ?? [])
      if (!owners.has(cpu)) owners.set(cpu, { podUid, namespace, name, containers: [] });
  }
  return owners;
}

function nodesOf(topology: MachineTopology, free: ReadonlySet<number>): readonly ReportedNode[] {
  const units = unitsOf(topology);
  const isWhole = ({ cpus }: Unit) => cpus.every((cpu) => free.has(cpu));
  return topology.nodes.map(({ id, cpus }) => {
    const own = new Set(cpus);
    const cores = units.core.filter((core) => core.cpus.some((cpu) => own.has(cpu)));
    const whole = cores.filter(isWhole);
    const inWhole = new Set(whole.flatMap((core) => core.cpus));
    const left = cpus.filter((cpu) => free.has(cpu));
    const inCache = (cache: Unit) => cache.cpus.filter((cpu) => own.has(cpu) && free.has(cpu));
    return {
      id,
      sockets: sortedCpus(cpus.flatMap((cpu) => units.cpus.get(cpu)?.socket ?? [])),
      cpus: formatCpuList(cpus),
      free: formatCpuList(left),
      wholeCores: whole.length,
      stray: formatCpuList(left.filter((cpu) => !inWhole.has(cpu))),
      largestCache: largest(
        units.cache.map((cache) => inCache(cache).length),
        0,
      ),
    };
  });
}

function optionNames(policy: StaticPolicy | undefined): readonly string[] {
  if (!policy) return [];
  const { options } = policy;
  const names: Readonly<Record<string, boolean>> = {
    "full-pcpus-only": options.fullCores,
    "distribute-cpus-across-numa": options.distributeNuma,
    "align-by-socket": options.alignSockets,
    "distribute-cpus-across-cores": options.spreadCores,
    "strict-cpu-reservation": options.strictReservation,
    "prefer-align-cpus-by-uncorecache": options.alignCaches,
  };
  return Object.keys(names).filter((name) => names[name]);
}
