import type { ContainerStatus } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import type { CgroupDifference } from "./apply.ts";
import { comparePlan } from "./apply.ts";
import { podDemand } from "./demand-cache.ts";
import { literalPath, podName } from "./names.ts";
import { expectContainerFiles, type RuntimeWeights } from "./plan/plan-container.ts";
import { planTree } from "./plan/plan-tree.ts";
import type { CgroupSettings } from "./settings.ts";
import type { CgroupPlan, CgroupWrite } from "./writes.ts";

/** One value of a group beside what it should be. */
export interface ReportedValue {
  readonly file: string;
  /** Absent when group or file are missing. */
  readonly found?: string;
  readonly wanted: string;
  /**
   * `same`; `differs` and will be written; `foreign`: differs, and the agent does not write it by itself;
   * `runtime`: differs, and it is the runtime's to write.
   */
  readonly state: "same" | "differs" | "foreign" | "runtime";
}

/** One group of the machine beside what it should be. */
export interface ReportedGroup {
  readonly path: string;
  readonly kind: "node" | "tier" | "pod" | "container" | "reserved" | "unknown";
  readonly exists: boolean;
  /** `namespace/name` of the pod. */
  readonly pod?: string;
  readonly container?: string;
  readonly values: readonly ReportedValue[];
}

/** The live tree beside the desired one. */
export interface CgroupsReport {
  readonly version: 1 | 2;
  readonly driver: string;
  /** Which weights the runtime gives to containers, as far as containers show it. v2 only. */
  readonly runtimeWeights?: RuntimeWeights | "mixed";
  readonly groups: readonly ReportedGroup[];
  readonly differences: number;
}

interface CgroupReportInputs {
  readonly tree: CgroupTree;
  readonly settings: CgroupSettings;
  /** Pods that are active, with their statuses, by which containers are found. */
  readonly pods: readonly IdentifiedPod[];
  readonly resourcesOf: (
    pod: IdentifiedPod,
    container: string,
  ) => Parameters<typeof expectContainerFiles>[1];
  /** Paths of pods' groups that are there. */
  readonly present: readonly string[];
}

/** Compares the machine with what it should be. Reads only. */
export async function reportCgroups(inputs: CgroupReportInputs): Promise<CgroupsReport> {
  const { tree, settings, pods, present } = inputs;
  const byPath = new Map(pods.map((pod) => [pathOf(settings, pod), pod]));
  const groups: ReportedGroup[] = [];
  const weights = new Set<RuntimeWeights>();
  for (const plan of planTree(settings, pods.map(podDemand))) {
    const pod = byPath.get(plan.path);
    groups.push(await reportPlan(tree, plan, pod));
    if (pod) appendAll(groups, await reportContainers(inputs, pod, weights));
  }
  for (const path of present.filter((one) => !byPath.has(one))) {
    groups.push({ path, kind: "unknown", exists: true, values: [] });
  }
  const [only] = weights;
  return {
    version: tree.version,
    driver: settings.driver,
    ...(only === undefined ? {} : { runtimeWeights: weights.size > 1 ? "mixed" : only }),
    groups,
    differences: groups.flatMap(({ values }) => values).filter(({ state }) => state !== "same")
      .length,
  };
}

function pathOf(settings: CgroupSettings, pod: IdentifiedPod): string {
  const { qos, uid } = podDemand(pod);
  return literalPath(podName(settings.root, qos, uid), settings.driver);
}

function podLabel(pod: IdentifiedPod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

async function reportPlan(
  tree: CgroupTree,
  plan: CgroupPlan,
  pod: IdentifiedPod | undefined,
): Promise<ReportedGroup> {
  const differences = await comparePlan(tree, plan);
  const values: ReportedValue[] = [];
  for (const write of plan.writes) {
    const value = await reportValue(tree, plan.path, write, differences);
    if (value) values.push(value);
  }
  return {
    path: plan.path,
    kind: plan.kind,
    exists: await tree.exists(plan.path),
    ...(pod ? { pod: podLabel(pod) } : {}),
    values,
  };
}

async function reportValue(
  tree: CgroupTree,
  path: string,
  write: CgroupWrite,
  differences: readonly CgroupDifference[],
): Promise<ReportedValue | undefined> {
  const { file } = write;
  const found = await tree.read(path, file);
  if (found === undefined && write.optional) return undefined;
  const difference = differences.find((one) => one.file === file);
  return {
    file,
    ...(found === undefined ? {} : { found }),
    wanted: difference?.wanted ?? write.value,
    state: difference ? (difference.foreign ? "foreign" : "differs") : "same",
  };
}

const CONTAINER_LISTS = [
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
] as const;

/** Containers that run, by the ids in the pod's status. */
function runningContainers(
  pod: IdentifiedPod,
): readonly { readonly name: string; readonly id: string }[] {
  return CONTAINER_LISTS.flatMap((list) => pod.status?.[list] ?? []).flatMap(
    ({ name, containerID = "", state }: ContainerStatus) =>
      state?.running && containerID !== ""
        ? [{ name, id: containerID.slice(containerID.lastIndexOf("/") + 1) }]
        : [],
  );
}

/**
 * Without the limits of huge pages that the runtime has not set: containerd leaves them out without
 * its option (`disable_hugetlb_controller`), and the pod's group has the limits anyway.
 */
async function withoutLeftOut(
  tree: CgroupTree,
  path: string,
  writes: readonly CgroupWrite[],
): Promise<readonly CgroupWrite[]> {
  const kept: CgroupWrite[] = [];
  for (const write of writes) {
    const found = write.file.startsWith("hugetlb.") ? await tree.read(path, write.file) : "";
    if (found !== "max" && !(Number(found) >= HUGETLB_FREE)) kept.push(write);
  }
  return kept;
}

/** From here on version 1 means "no limit": its greatest number in whole pages. */
const HUGETLB_FREE = 2 ** 62;

/** The runtime's own groups; both formulas of weights are right, and which one is in use is kept. */
async function reportContainers(
  { tree, settings, resourcesOf }: CgroupReportInputs,
  pod: IdentifiedPod,
  weights: Set<RuntimeWeights>,
): Promise<readonly ReportedGroup[]> {
  const parent = pathOf(settings, pod);
  const children = await tree.children(parent);
  const groups: ReportedGroup[] = [];
  for (const { name, id } of runningContainers(pod)) {
    const child = children.find((one) => one.includes(id));
    if (child === undefined) continue;
    const path = `${parent}/${child}`;
    const resources = resourcesOf(pod, name);
    const compare = async (formula: RuntimeWeights) => {
      const expected = expectContainerFiles(settings, resources, formula);
      const writes = await withoutLeftOut(tree, path, expected);
      const plan: CgroupPlan = { path, kind: "pod", create: false, writes };
      return { writes, differences: await comparePlan(tree, plan), formula };
    };
    const curve = await compare("quadratic");
    const line = await compare("linear");
    const best = line.differences.length < curve.differences.length ? line : curve;
    const differs = line.differences.length !== curve.differences.length;
    if (tree.version === 2 && differs) weights.add(best.formula);
    const values: ReportedValue[] = [];
    for (const write of best.writes) {
      const value = await reportValue(tree, path, write, best.differences);
      if (value) values.push(value.state === "same" ? value : { ...value, state: "runtime" });
    }
    groups.push({
      path,
      kind: "container",
      exists: true,
      pod: podLabel(pod),
      container: name,
      values,
    });
  }
  return groups;
}
