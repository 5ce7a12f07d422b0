import type { MachineTopology } from "../../../api/node/machine-topology.ts";
import { identifyPod } from "../../../api/pod-identity.ts";
import { parseYamlDocument } from "../../../api/text/yaml.ts";
import { deriveEvictionHard, deriveReservations } from "../../../config/derive.ts";
import type { KubeletConfig } from "../../../config/kubelet-config.ts";
import { readingTree, readMachineTopology } from "../../../config/machine/read-machine.ts";
import { topologyOf } from "../../../config/topology.ts";
import { UsageError } from "../../../kit/errors.ts";
import { nodeCapacity } from "../../../node/capacity.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import type { DevicesReply } from "../../../present/shapes.ts";
import type { CliContext } from "../../context.ts";
import { writeAs } from "../../io.ts";
import { describeTree } from "../../plan/describe-tree.ts";
import { planTopology, type TopologyPlan } from "../../plan/plan-topology.ts";
import { readPodFile } from "../../plan/read-pods.ts";
import { renderTopology } from "../../plan/render-topology.ts";
import {
  type ConfigPlace,
  loadPlanConfig,
  readInput,
  thisHost,
  understood,
} from "./plan-inputs.ts";

interface PlanPlacementOptions extends ConfigPlace {
  /** A file with the machine's files; this machine when it is left out. */
  readonly topology?: string;
  readonly devices?: string;
  readonly filename?: readonly string[];
  readonly output: "tree" | "json" | "yaml";
}

const RECORD =
  "grep -r . /sys/devices/system/cpu /sys/devices/system/node /proc/meminfo > machine.tree";

/** Shows which CPUs, memory of NUMA nodes and devices each container would get. */
export async function planPlacement(
  options: PlanPlacementOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  if (!options.filename)
    throw new CliError("plan: --topology and --machine require -f, a file with pods", {
      exitCode: EXIT_USAGE,
      fix: "nodelet plan --machine this -f pods.yaml",
    });
  const config = await loadPlanConfig(options, io);
  if (!config) return context.finish(EXIT_USAGE);
  const plan = await understood(() => makePlan(options, config, io.cwd));
  writeAs(options.output, plan, () => renderTopology(plan, io.paint), io);
}

type ReadKernel = (path: string) => string | undefined;

async function makePlan(
  options: PlanPlacementOptions,
  config: KubeletConfig,
  cwd: string,
): Promise<TopologyPlan> {
  const read = readerOf(options.topology, cwd);
  const machine = readMachineTopology(read);
  checkMachine(machine, options.topology);
  const { facts, storageBytes } = describeTree(machine);
  const devices = devicesOf(options.devices, cwd);
  const { allocatable, pods: maxPods } = nodeCapacity(facts, storageBytes, {
    ...config,
    ...deriveReservations(config),
    evictionHard: deriveEvictionHard(config),
  });
  const extended = new Map(
    devices.resources.map(({ resource, devices: all }) => [
      resource,
      all.filter(({ health }) => health === "healthy").length,
    ]),
  );
  return await planTopology({
    config,
    machine,
    settings: topologyOf(config, read),
    memoryBytes: facts.memoryBytes,
    nodeInfo: {
      allocatable: { ...allocatable, extended },
      pods: maxPods,
      runtimeClasses: true,
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    },
    pods: (options.filename ?? []).flatMap((path) =>
      readPodFile({ path, text: readInput(path, cwd) }, facts.hostname).map(identifyPod),
    ),
    devices,
    notes: notesOf(config, options),
  });
}

function readerOf(path: string | undefined, cwd: string): ReadKernel {
  if (path !== undefined) return readingTree(readInput(path, cwd));
  const host = thisHost();
  return (file) => host.readKernel(file);
}

function checkMachine({ cpus, nodes }: MachineTopology, path = "this machine"): void {
  if (cpus.length === 0)
    throw new UsageError(
      `${path}: holds no CPUs (/sys/devices/system/cpu/online); write it with ${RECORD}`,
    );
  if (nodes.every(({ memoryBytes }) => memoryBytes === 0))
    throw new UsageError(
      `${path}: holds no memory of any NUMA node (node*/meminfo); write it with ${RECORD}`,
    );
}

function devicesOf(path: string | undefined, cwd: string): Pick<DevicesReply, "resources"> {
  if (path === undefined) return { resources: [] };
  const { value } = parseYamlDocument(readInput(path, cwd));
  const resources = (value as Partial<DevicesReply> | null)?.resources;
  const isReport =
    Array.isArray(resources) &&
    resources.every(
      ({ resource, devices }) =>
        typeof resource === "string" &&
        Array.isArray(devices) &&
        devices.every(({ id, numaNodes }) => typeof id === "string" && Array.isArray(numaNodes)),
    );
  if (isReport) return { resources };
  throw new UsageError(
    `${path}: resources: is no list of devices; write it with nodelet devices -o json > ${path}`,
  );
}

function notesOf(
  { cpuManagerPolicy, memoryManagerPolicy, topologyManagerPolicy }: KubeletConfig,
  { devices }: PlanPlacementOptions,
): readonly string[] {
  return [
    ...(cpuManagerPolicy === "none"
      ? ["with cpuManagerPolicy: none all containers share all CPUs"]
      : []),
    ...(memoryManagerPolicy === "None"
      ? ["with memoryManagerPolicy: None no memory is assigned"]
      : []),
    ...(topologyManagerPolicy === "none"
      ? ["with topologyManagerPolicy: none each kind of resources is placed by itself"]
      : []),
    ...(devices === undefined ? [] : ["plugins of devices may prefer others than those shown"]),
  ];
}
