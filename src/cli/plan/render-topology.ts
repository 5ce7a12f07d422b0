// pure
import { humanBytes } from "../../present/amounts.ts";
import { oneLine, type Paint } from "../../present/text.ts";
import type { ContainerPlacement, PlacedPod, TopologyPlan } from "./plan-topology.ts";

/** Of eight nodes there are 255 sets; all of them are in the output for programs. */
const MAX_REFUSED = 6;

/** The plan of CPUs, memory and devices for people. */
export function renderTopology(plan: TopologyPlan, paint: Paint): readonly string[] {
  const { machine, policies, reserved, pods, left, notes } = plan;
  const options = policies.options.length === 0 ? "" : ` (${policies.options.join(", ")})`;
  return [
    paint("bold", "Machine"),
    ...machine.map(
      ({ node, sockets, cpus, memoryBytes }) =>
        `  NUMA node ${node}  ${socketText(sockets)}CPUs ${cpus || "none"}, ${humanBytes(memoryBytes)}`,
    ),
    `  policies     CPUs ${policies.cpus}, memory ${policies.memory}, topology ${policies.topology} by ${policies.scope}${options}`,
    ...(reserved === "" ? [] : [`  reserved     CPUs ${reserved}`]),
    "",
    paint("bold", "Pods"),
    ...pods.flatMap((pod) => podLines(pod, left.shared, paint)),
    "",
    paint("bold", "Left"),
    `  shared pool  CPUs ${left.shared || "none"}`,
    ...left.nodes.map(
      ({ node, cpus, memoryBytes }) =>
        `  NUMA node ${node}  CPUs ${cpus || "none"}, ${humanBytes(memoryBytes)}`,
    ),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `Note: ${note}`)]),
  ];
}

function socketText(sockets: readonly number[]): string {
  return sockets.length === 0 ? "" : `socket ${sockets.join(",")}: `;
}

function podLines(pod: PlacedPod, shared: string, paint: Paint): readonly string[] {
  const { namespace, name, qosClass, admitted, reason, message, containers } = pod;
  const verdict = admitted
    ? paint("green", "admitted")
    : `${paint("red", "rejected")}: ${reason ?? ""}: ${oneLine(message ?? "")}`;
  return [
    `  ${oneLine(`${namespace}/${name}`)}  ${qosClass}  ${verdict}`,
    ...containers.flatMap((container) => containerLines(container, { admitted, shared }, paint)),
  ];
}

function containerLines(
  { name, cpus, memory, devices, nodes, hints, refused }: ContainerPlacement,
  { admitted, shared }: { readonly admitted: boolean; readonly shared: string },
  paint: Paint,
): readonly string[] {
  const got = admitted
    ? [
        `cpus     ${cpus ?? `shared (${shared || "none"})`}`,
        ...memory.map(
          (block) => `memory   ${block.type} ${humanBytes(block.bytes)} ${on(block.nodes)}`,
        ),
        ...devices.map(
          ({ resource, ids, nodes: at }) =>
            `devices  ${resource} ${ids.join(", ")}${at.length === 0 ? "" : ` ${on(at)}`}`,
        ),
      ]
    : [];
  const why = [
    ...(nodes === undefined ? [] : [`chosen   ${setText(nodes)}`]),
    ...hints.flatMap(({ of, sets }) => sets.map((text) => `hints    ${of}: ${text}`)),
    ...refused.slice(0, MAX_REFUSED).map((set) => `not      ${setText(set.nodes)}: ${set.why}`),
    ...(refused.length > MAX_REFUSED ? [`not      ${refused.length - MAX_REFUSED} more sets`] : []),
  ];
  return [
    `    ${paint("cyan", oneLine(name))}`,
    ...got.map((line) => `      ${line}`),
    ...why.map((line) => `      ${paint("dim", line)}`),
  ];
}

const on = (nodes: readonly number[]) => `on NUMA node ${nodes.join(",")}`;

const setText = (nodes: readonly number[]) => `{${nodes.join(",")}}`;
