import { type Command, Option } from "commander";
import { deriveEvictionHard, deriveReservations } from "../../../config/derive.ts";
import type { KubeletConfig } from "../../../config/kubelet-config.ts";
import { isOutside } from "../../../kit/errors.ts";
import { nodeCapacity } from "../../../node/capacity.ts";
import type { Host } from "../../../outside/host/host.ts";
import type { NodeAttributes } from "../../../pipeline/admission/rules.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import {
  type CgroupSettings,
  cgroupOptionsOf,
  type RuntimeWeights,
  settingsFrom,
} from "../../../subsystems/cgroups/cgroups.ts";
import type { CliContext } from "../../context.ts";
import { writeAs } from "../../io.ts";
import { type NodePlan, planNodePods } from "../../plan/plan-node-pods.ts";
import { type DescribedNode, readNode } from "../../plan/read-node.ts";
import { readPodFile } from "../../plan/read-pods.ts";
import { renderPlan } from "../../plan/render-plan.ts";
import { DEFAULT_PLACES } from "../../up/paths.ts";
import { type PlanEvictionOptions, planEvictionOf } from "./plan-eviction.ts";
import { loadPlanConfig, readInput, thisHost, understood } from "./plan-inputs.ts";
import { planPlacement } from "./plan-placement.ts";

interface PlanOptions extends Partial<Omit<PlanEvictionOptions, "flags">> {
  readonly filename?: readonly string[];
  readonly node?: string;
  readonly topology?: string;
  readonly machine?: "this";
  readonly devices?: string;
  readonly config?: string;
  readonly cgroup?: "v1" | "v2";
  readonly driver?: "cgroupfs" | "systemd";
  readonly weights: RuntimeWeights;
  readonly output: "tree" | "json" | "yaml";
}

/** `nodelet plan`. */
export function addPlanCommand(program: Command, context: CliContext): void {
  const command = program
    .command("plan")
    .summary("show what pods would get on a node, or which would be evicted; changes nothing")
    .description(
      "Shows what pods would get on a node: the result of admission, the QoS class, and every cgroup " +
        "with its values. Nothing is changed. The pods are admitted together, in the order given.",
    )
    .argument("[flags...]", "flags as for `nodelet run`, after --")
    .option("-f, --filename <file...>", "pods, YAML or JSON; - is standard input")
    .option(
      "--evict [threshold...]",
      "show which pods the running agent would evict instead, e.g. with memory.available=100Mi",
    )
    .addOption(
      new Option("--socket <path>", "the agent's socket, for --evict").conflicts("summary"),
    )
    .option(
      "--summary <file>",
      "for --evict: usage of a node (/stats/summary) instead of the running agent's; its pods with -f",
    )
    .option("--node <file>", "a Node object (kubectl get node -o yaml) instead of this machine")
    .option(
      "--config <file>",
      `the agent's configuration (default ${DEFAULT_PLACES.config} if it exists)`,
    )
    .addOption(new Option("--cgroup <version>", "cgroup version").choices(["v1", "v2"]))
    .addOption(new Option("--driver <driver>", "cgroup driver").choices(["cgroupfs", "systemd"]))
    .addOption(
      new Option("--weights <formula>", "how the runtime converts CPU shares to a cgroup v2 weight")
        .choices(["quadratic", "linear"])
        .default("quadratic", "quadratic: runc since 1.3.2, crun since 1.23"),
    )
    .addOption(
      new Option("-o, --output <form>", "output format")
        .choices(["tree", "json", "yaml"])
        .default("tree"),
    )
    .addHelpText("after", EXAMPLES);
  addPlacementOptions(command);
  command.action((flags: readonly string[], options: PlanOptions) => {
    const { evict, topology, machine } = options;
    if (topology !== undefined || machine !== undefined)
      return planPlacement({ ...options, flags }, context);
    return evict === undefined
      ? runPlan(flags, options, context)
      : planEvictionOf({ ...options, evict, flags }, context);
  });
}

function addPlacementOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--topology <file>",
        "show which CPUs, memory and devices containers would get on the machine of this file instead: " +
          "grep -r . /sys/devices/system/cpu /sys/devices/system/node /proc/meminfo",
      ).conflicts(["machine", ...OTHER_PLANS]),
    )
    .addOption(
      new Option("--machine <machine>", "the same for the machine that the command runs on")
        .choices(["this"])
        .conflicts(OTHER_PLANS),
    )
    .option(
      "--devices <file>",
      "for --topology and --machine: devices of the machine (nodelet devices -o json)",
    );
}

/** Options of the other plans. */
const OTHER_PLANS = ["evict", "socket", "summary", "node", "cgroup", "driver"];

const EXAMPLES = `
Examples:
  nodelet plan -f pods.yaml
  nodelet plan -f web.yaml -f db.yaml --node node.yaml --cgroup v2 --driver systemd
  nodelet plan --evict memory.available=2Gi        which pods would be evicted below 2Gi?
  nodelet plan --evict --summary summary.json -f pods.yaml     the same for the node in these files
  nodelet plan --machine this -f pods.yaml         which CPUs, memory and devices would they get here?
  nodelet plan --topology machine.tree -f pods.yaml -- --cpu-manager-policy=static --kube-reserved=cpu=1
  nodelet plan -f pods.yaml -o json -- --qos-reserved=memory=100% --feature-gates=QOSReserved=true
`;

async function runPlan(
  flags: readonly string[],
  options: PlanOptions,
  { io, finish }: CliContext,
): Promise<void> {
  if (!options.filename)
    throw new CliError("plan: give a file with pods, or --evict", {
      exitCode: EXIT_USAGE,
      fix: "nodelet plan -f pods.yaml, or nodelet plan --evict",
    });
  if (options.devices !== undefined)
    throw new CliError("plan: --devices requires --topology or --machine", {
      exitCode: EXIT_USAGE,
    });
  if (options.summary !== undefined)
    throw new CliError("plan: --summary requires --evict", { exitCode: EXIT_USAGE });
  const config = await loadPlanConfig({ ...options, flags }, io);
  if (!config) return finish(EXIT_USAGE);
  const plan = await understood(() => makePlan(options, config, { host: thisHost(), cwd: io.cwd }));
  writeAs(options.output, plan, () => renderPlan(plan, io.paint), io);
}

interface Surroundings {
  readonly host: Host;
  readonly cwd: string;
}

async function makePlan(
  options: PlanOptions,
  config: KubeletConfig,
  { host, cwd }: Surroundings,
): Promise<NodePlan> {
  const node = options.node
    ? readNode(readInput(options.node, cwd), options.node)
    : await describeMachine(host);
  const version = options.cgroup ?? (options.node ? "v2" : `v${machineVersion(host)}`);
  const settings = planSettings(config, node, version === "v1" ? 1 : 2, options.driver);
  const pods = (options.filename ?? []).flatMap((path) =>
    readPodFile({ path, text: readInput(path, cwd) }, node.name),
  );
  const { allocatable, pods: maxPods } = nodeCapacity(node.facts, node.storageBytes, {
    ...config,
    ...deriveReservations(config),
    evictionHard: deriveEvictionHard(config),
  });
  return planNodePods({
    node: node.name,
    settings,
    nodeInfo: {
      allocatable,
      pods: maxPods,
      ...nodeOf(node),
      // Classes are looked up when a pod starts, not when it is admitted.
      runtimeClasses: true,
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
      ...(node.facts.kernelVersion === "" ? {} : { kernelVersion: node.facts.kernelVersion }),
    },
    pods,
    weights: options.weights,
    notes: notesOf(config, settings),
  });
}

async function describeMachine(host: Host): Promise<DescribedNode> {
  const facts = await host.facts();
  const storage = (await host.diskUsage(ROOT_FOLDER)) ?? (await host.diskUsage("/"));
  return { name: facts.hostname, labels: {}, facts, storageBytes: storage?.capacityBytes ?? 0 };
}

/** The folder whose file system is the node's, by default. */
const ROOT_FOLDER = "/var/lib/kubelet";

/** 2 where this machine has no cgroups: what it would have with the usual ones. */
function machineVersion(host: Host): 1 | 2 {
  try {
    return host.cgroups.version;
  } catch (thrown) {
    if (!isOutside(thrown)) throw thrown;
    return 2;
  }
}

const CONTROLLERS = {
  1: ["cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb"],
  2: ["cpuset", "cpu", "io", "memory", "hugetlb", "pids"],
} as const;

function planSettings(
  config: KubeletConfig,
  { facts }: DescribedNode,
  version: 1 | 2,
  driver: PlanOptions["driver"],
): CgroupSettings {
  const options = cgroupOptionsOf(config, {
    pageBytes: facts.pageBytes,
    ...(driver === undefined ? {} : { runtimeDriver: driver }),
  });
  const settings = settingsFrom(
    options,
    { version, controllers: new Set(CONTROLLERS[version]) },
    facts,
  );
  const cpus = driver === "systemd" && version === 2 ? { cpus: cpuList(facts.cpuCount) } : {};
  return { ...settings, ...cpus, swap: { ...settings.swap, controlled: version === 2 } };
}

function cpuList(count: number): string {
  return count <= 1 ? "0" : `0-${Math.ceil(count) - 1}`;
}

/** The node as pods may ask for it; of a machine that is no node yet nothing is known. */
function nodeOf({ name, labels }: DescribedNode): { readonly node?: NodeAttributes } {
  return Object.keys(labels).length === 0 ? {} : { node: { name, labels, taints: [] } };
}

function notesOf(config: KubeletConfig, settings: CgroupSettings): readonly string[] {
  const notes: string[] = [];
  if (settings.version === 1 && config.failCgroupV1) {
    notes.push("with failCgroupV1: true an agent refuses to start on cgroup v1");
  }
  if (!config.cgroupsPerQOS) {
    notes.push("with cgroupsPerQOS: false no cgroups are created; pods run in cgroupRoot");
  }
  if (settings.capacity.pids === 0) {
    notes.push(
      "the Node object does not report the process limit; pids.max of all pods is omitted",
    );
  }
  return notes;
}
