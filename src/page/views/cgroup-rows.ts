// pure
/** The cgroup tree as rows: what each group uses, what its pods request, what the kernel allows. */

import type { Pod } from "../../api/generated/types.ts";
import { allContainers } from "../../api/pod/pod.ts";
import { podResources, resourceAmounts } from "../../api/pod/pod-resources.ts";
import { smallest } from "../../kit/limits/lists.ts";
import type { CgroupsReport, ReportedGroup } from "../../subsystems/cgroups/cgroups.ts";
import type { GroupUse } from "../../subsystems/stats/stats.ts";

/** The report with what the groups use. */
export interface MeasuredCgroups extends CgroupsReport {
  readonly usage?: Readonly<Record<string, GroupUse>>;
}

/** CPU in thousandths, memory in bytes. */
export interface Requested {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
}

/** Limits that the kernel enforces now; absent without one. */
interface Enforced {
  readonly cpuMilli?: number;
  readonly memoryBytes?: number;
  readonly tasks?: number;
}

/** One group. */
export interface CgroupRow {
  readonly group: ReportedGroup;
  /** Depth below the uppermost group shown. */
  readonly level: number;
  readonly title: string;
  readonly use: GroupUse | undefined;
  readonly requested: Requested | undefined;
  readonly enforced: Enforced;
  /** Values that the kernel has otherwise than configured. */
  readonly drift: number;
}

/** The rows in the order of the report: a group before those beneath it. */
export function cgroupRows(
  { groups, usage = {} }: MeasuredCgroups,
  pods: readonly Pod[],
): readonly CgroupRow[] {
  const requests = requestsByPath(groups, pods);
  const top = smallest(groups.map(({ path }) => depthOf(path)));
  return groups.map((group) => ({
    group,
    level: depthOf(group.path) - top,
    title: titleOf(group),
    use: usage[group.path],
    requested: requests.get(group.path),
    enforced: enforcedOf(group),
    drift: group.values.filter(({ state }) => state !== "same").length,
  }));
}

function titleOf({ kind, pod, container, path }: ReportedGroup): string {
  switch (kind) {
    case "container":
      return container ?? "container";
    case "pod":
      return pod ?? "pod";
    case "node":
      return "all pods";
    case "tier":
      return `${path.split("/").at(-1)} pods`;
    case "reserved":
      return "reserved for the system";
    default:
      return "not known to the agent";
  }
}

const depthOf = (path: string): number => path.split("/").length;

/** Requests of containers and pods, and their sums in the groups above. */
function requestsByPath(
  groups: readonly ReportedGroup[],
  pods: readonly Pod[],
): ReadonlyMap<string, Requested> {
  const byName = new Map(
    pods.map((pod) => [`${pod.metadata?.namespace}/${pod.metadata?.name}`, pod]),
  );
  const upper = groups.filter(({ kind }) => kind === "node" || kind === "tier");
  const requests = new Map<string, Requested>();
  for (const { path, kind, pod: name = "", container } of groups) {
    const pod = byName.get(name);
    if (pod === undefined) continue;
    const own =
      kind === "container"
        ? resourceAmounts(
            allContainers(pod).find((each) => each.container.name === container)?.container
              .resources?.requests,
          )
        : podResources(pod).requests;
    requests.set(path, own);
    if (kind !== "pod") continue;
    for (const above of upper)
      if (path.startsWith(`${above.path}/`))
        requests.set(above.path, sumOf(requests.get(above.path), own));
  }
  return requests;
}

function sumOf(sum: Requested | undefined, { cpuMilli, memoryBytes }: Requested): Requested {
  return {
    cpuMilli: (sum?.cpuMilli ?? 0) + cpuMilli,
    memoryBytes: (sum?.memoryBytes ?? 0) + memoryBytes,
  };
}

/** From here on version 1 means "no limit": its greatest number in whole pages. */
const UNLIMITED = 2 ** 62;

function enforcedOf({ values }: ReportedGroup): Enforced {
  const found = new Map(values.map(({ file, found: value }) => [file, value]));
  const number = (file: string) => {
    const value = Number(found.get(file) ?? Number.NaN);
    return value > 0 && value < UNLIMITED ? value : undefined;
  };
  const memoryBytes = number("memory.max") ?? number("memory.limit_in_bytes");
  const tasks = number("pids.max");
  const cpuMilli = cpuLimit(found.get("cpu.max")) ?? quotaOf(number);
  return {
    ...(cpuMilli === undefined ? {} : { cpuMilli }),
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(tasks === undefined ? {} : { tasks }),
  };
}

/** `50000 100000` are 500 thousandths; `max 100000` is no limit. */
function cpuLimit(text: string | undefined): number | undefined {
  const [quota = Number.NaN, period = Number.NaN] = (text ?? "").split(" ").map(Number);
  return quota > 0 && period > 0 ? (quota / period) * 1000 : undefined;
}

const USUAL_PERIOD_US = 100_000;

function quotaOf(number: (file: string) => number | undefined): number | undefined {
  const quota = number("cpu.cfs_quota_us");
  return quota && (quota / (number("cpu.cfs_period_us") ?? USUAL_PERIOD_US)) * 1000;
}
