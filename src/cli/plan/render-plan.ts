// pure
import { largest } from "../../kit/limits/lists.ts";
import { humanBytes } from "../../present/amounts.ts";
import { oneLine, type Paint, padText } from "../../present/text.ts";
import type { PlannedGroup, PlannedValue } from "../../subsystems/cgroups/cgroups.ts";
import type { PlannedClaim } from "./plan-claims.ts";
import type { NodePlan, PlannedPod } from "./plan-node-pods.ts";

/** Values from here on are no limit: v1's largest, and what classes have of huge pages. */
const NO_LIMIT = 2n ** 62n;

/** The plan as a tree for people. */
export function renderPlan(plan: NodePlan, paint: Paint): readonly string[] {
  return [
    ...head(plan, paint),
    "",
    ...podLines(plan, paint),
    "",
    ...treeLines(plan, paint),
    ...noteLines(plan),
  ];
}

function head(plan: NodePlan, paint: Paint): readonly string[] {
  const { node, cgroupVersion, driver, capacity, allocatable } = plan;
  const amounts = (of: { readonly cpuMilli: number; readonly memoryBytes: number }) =>
    `${cpus(of.cpuMilli)}, ${humanBytes(of.memoryBytes)}`;
  return [
    `${paint("bold", `Node ${oneLine(node)}`)}  cgroup ${cgroupVersion}, driver ${driver}`,
    `  capacity     ${amounts(capacity)}`,
    `  allocatable  ${amounts(allocatable)}, ${allocatable.pods} pods`,
  ];
}

function cpus(milli: number): string {
  return milli % 1000 === 0 ? `${milli / 1000} CPU` : `${milli}m CPU`;
}

function podLines({ pods }: NodePlan, paint: Paint): readonly string[] {
  const width = largest(
    pods.map((pod) => label(pod).length),
    0,
  );
  return [
    paint("bold", "Pods"),
    ...pods.flatMap((pod) => {
      const verdict = pod.admitted
        ? paint("green", "admitted")
        : `${paint("red", "rejected")} by the rule "${pod.rule ?? ""}": ${pod.reason ?? ""}: ${oneLine(pod.message ?? "")}`;
      const line = `  ${padText(label(pod), width)}  ${padText(pod.qosClass, 10)}  ${verdict}`;
      return [line, ...(pod.claims ?? []).map(claimLine)];
    }),
  ];
}

function claimLine({ name, needs, containers }: PlannedClaim): string {
  const users = containers.length === 0 ? "no container" : containers.join(", ");
  return `    ${oneLine(`claim ${name}: needs ${needs}; for ${users}`)}`;
}

function label({ namespace, name }: PlannedPod): string {
  return oneLine(`${namespace}/${name}`);
}

function treeLines({ groups }: NodePlan, paint: Paint): readonly string[] {
  const lines = [paint("bold", "Cgroups")];
  const depths = depthsOf(groups);
  for (const [i, group] of groups.entries()) {
    const depth = depths[i] ?? 0;
    const indent = "  ".repeat(depth + 1);
    lines.push(`${indent}${paint("cyan", nameOf(group, depth))}${aboutOf(group)}`);
    const rows = valueRows(group.values);
    const width = largest(
      rows.map(([file]) => file.length),
      0,
    );
    for (const [file, text, note] of rows) {
      const about = note === "" ? "" : `  ${paint("dim", `(${note})`)}`;
      lines.push(`${indent}  ${padText(file, width)}  ${text}${about}`);
    }
    const properties = Object.entries(group.unit?.properties ?? {});
    if (properties.length > 0) {
      const text = properties.map(([name, value]) => `${name}=${value}`).join(" ");
      lines.push(`${indent}  ${paint("dim", `systemd: ${text}`)}`);
    }
  }
  return lines;
}

/** How deep each group stands below the first one above it in the list. */
function depthsOf(groups: readonly PlannedGroup[]): readonly number[] {
  const depths = new Map<string, number>();
  return groups.map(({ path }) => {
    const above = depths.get(path.slice(0, path.lastIndexOf("/")));
    const depth = above === undefined ? 0 : above + 1;
    depths.set(path, depth);
    return depth;
  });
}

function nameOf({ path, kind, container }: PlannedGroup, depth: number): string {
  if (kind === "container") return oneLine(container ?? "");
  return depth === 0 ? path : path.slice(path.lastIndexOf("/") + 1);
}

const ABOUT: Readonly<Record<PlannedGroup["kind"], string>> = {
  node: "all pods",
  tier: "",
  pod: "",
  container: "container",
  reserved: "already exists; only its limits are set",
};

function aboutOf({ kind, pod, qosClass, oomScoreAdj }: PlannedGroup): string {
  const parts = [
    kind === "pod" ? `pod ${oneLine(pod ?? "")}` : ABOUT[kind],
    kind === "pod" ? (qosClass ?? "") : "",
    oomScoreAdj === undefined ? "" : `oom_score_adj ${oomScoreAdj}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `  (${parts.join(", ")})`;
}

/** Controllers in the order in which they are shown. */
const ORDER = ["cpu", "cpuset", "memory", "pids", "hugetlb"];

type Row = readonly [file: string, text: string, note: string];

/** One row for each value; huge pages, of which there are many, share one where they agree. */
function valueRows(values: readonly PlannedValue[]): readonly Row[] {
  const rankOf = ({ file }: PlannedValue) => ORDER.indexOf(file.slice(0, file.indexOf(".")));
  const sorted = values.toSorted((a, b) => rankOf(a) - rankOf(b));
  const huge = sorted.filter(({ file }) => file.startsWith("hugetlb."));
  const agree = huge.length > 1 && huge.every(({ shows }) => shows === huge[0]?.shows);
  const shown = agree ? sorted.filter((value) => !huge.includes(value)) : sorted;
  const rows = shown.map(({ file, shows, untouched }): Row => {
    const notes = [meaning(file, shows), untouched ? "not written" : ""];
    return [file, shows, notes.filter((note) => note !== "").join("; ")];
  });
  const [first] = huge;
  return agree && first
    ? [...rows, ["hugetlb.*", first.shows, meaning(first.file, first.shows)]]
    : rows;
}

function meaning(file: string, shows: string): string {
  if (!/^(memory|hugetlb)\./.test(file) || file === "memory.oom.group") return "";
  if (!/^\d+$/.test(shows)) return "";
  const bytes = BigInt(shows);
  if (bytes >= NO_LIMIT) return "no limit";
  return bytes < 1024n ? "" : humanBytes(Number(bytes));
}

function noteLines({ notes }: NodePlan): readonly string[] {
  return notes.length === 0 ? [] : ["", ...notes.map((note) => `Note: ${note}`)];
}
