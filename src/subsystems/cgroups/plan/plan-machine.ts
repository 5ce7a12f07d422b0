// pure
import type { Container } from "../../../api/generated/types.ts";
import { allContainers } from "../../../api/pod/pod.ts";
import type { QosClass } from "../../../api/pod/qos.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { UnitProperty } from "../../../outside/systemd/systemd.ts";
import { literalPath, podName } from "../names.ts";
import { shownValue } from "../same-value.ts";
import type { CgroupSettings } from "../settings.ts";
import { unitOf, unitProperties } from "../units.ts";
import type { CgroupPlan, CgroupWrite } from "../writes.ts";
import { containerDemand } from "./container-demand.ts";
import { type PodDemand, readDemand } from "./demand.ts";
import { expectContainerFiles, planContainerGroup, type RuntimeWeights } from "./plan-container.ts";
import { planTree } from "./plan-tree.ts";

/** A value of a planned group. */
export interface PlannedValue {
  readonly file: string;
  /** As it is written. */
  readonly value: string;
  /** As the kernel will show it. */
  readonly shows: string;
  /** Not written by anyone: the kernel's default for a new group. */
  readonly untouched?: true;
}

/** One planned group with what stands in it. */
export interface PlannedGroup {
  /** For containers the last part is the container's name: the runtime chooses it by the container's id. */
  readonly path: string;
  readonly kind: CgroupPlan["kind"] | "container";
  /** `namespace/name`. */
  readonly pod?: string;
  readonly container?: string;
  readonly qosClass?: QosClass;
  /** Of the container's processes. */
  readonly oomScoreAdj?: number;
  readonly values: readonly PlannedValue[];
  /** The slice and its properties, with the systemd driver. */
  readonly unit?: {
    readonly name: string;
    readonly properties: Readonly<Record<string, string>>;
  };
}

/** Newest systemd that the properties depend on. */
const SYSTEMD_VERSION = 252;

/**
 * Everything that an agent with these settings would write for these pods, containers included as the
 * runtime will set them; parents before children.
 */
export function planMachine(
  settings: CgroupSettings,
  pods: readonly IdentifiedPod[],
  weights: RuntimeWeights,
): readonly PlannedGroup[] {
  const byPath = new Map(
    pods.map((pod) => {
      const demand = readDemand(pod, pod.metadata.uid);
      const name = podName(settings.root, demand.qos, demand.uid);
      return [literalPath(name, settings.driver), { pod, demand }] as const;
    }),
  );
  const demands = [...byPath.values()].map(({ demand }) => demand);
  const groups = planTree(settings, demands).flatMap((plan) => {
    const found = byPath.get(plan.path);
    const group = plannedGroup(settings, plan);
    if (!found) return [group];
    const { pod, demand } = found;
    const owner = { ...group, pod: labelOf(pod), qosClass: demand.qos };
    return [
      owner,
      ...allContainers(pod).map(({ container }) =>
        plannedContainer(settings, { pod, demand, parent: plan.path }, container, weights),
      ),
    ];
  });
  return inTreeOrder(groups);
}

function labelOf(pod: IdentifiedPod): string {
  return `${pod.metadata?.namespace ?? "default"}/${pod.metadata.name}`;
}

function plannedGroup(settings: CgroupSettings, plan: CgroupPlan): PlannedGroup {
  const written = plan.writes.filter(({ asFound }) => !asFound);
  const unit = {
    name: unitOf(plan.path),
    properties: Object.fromEntries(
      unitProperties(settings, written, SYSTEMD_VERSION).map(({ name, value }) => [
        name,
        propertyText(value),
      ]),
    ),
  };
  return {
    path: plan.path,
    kind: plan.kind,
    values: plan.writes.map((write) => plannedValue(settings, write)),
    ...(settings.driver === "systemd" ? { unit } : {}),
  };
}

function plannedValue(
  settings: CgroupSettings,
  { file, value, asFound }: CgroupWrite,
): PlannedValue {
  const shows = shownValue(file, value, settings.pageBytes);
  return { file, value, shows, ...(asFound ? { untouched: true } : {}) };
}

const INFINITY = 2n ** 64n - 1n;

function propertyText(value: UnitProperty["value"]): string {
  if (value === INFINITY) return "infinity";
  return Array.isArray(value) ? value.join(" ") : String(value);
}

interface Place {
  readonly pod: IdentifiedPod;
  readonly demand: PodDemand;
  readonly parent: string;
}

function plannedContainer(
  settings: CgroupSettings,
  { pod, demand, parent }: Place,
  container: Container,
  weights: RuntimeWeights,
): PlannedGroup {
  const resources = planContainerGroup(settings, demand, containerDemand(pod, container));
  return {
    path: `${parent}/${container.name}`,
    kind: "container",
    pod: labelOf(pod),
    container: container.name,
    oomScoreAdj: Number(resources.oomScoreAdj),
    values: expectContainerFiles(settings, resources, weights).map((write) =>
      plannedValue(settings, write),
    ),
  };
}

/** Depth first; groups of one parent keep their order. */
function inTreeOrder(groups: readonly PlannedGroup[]): readonly PlannedGroup[] {
  const parentOf = (path: string) => path.slice(0, path.lastIndexOf("/"));
  const known = new Set(groups.map(({ path }) => path));
  const walk = (group: PlannedGroup): readonly PlannedGroup[] => [
    group,
    ...groups.filter(({ path }) => parentOf(path) === group.path).flatMap(walk),
  ];
  return groups.filter(({ path }) => !known.has(parentOf(path))).flatMap(walk);
}
