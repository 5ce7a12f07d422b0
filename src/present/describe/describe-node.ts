// pure
import type { CoreEvent, Node, NodeCondition, Pod } from "../../api/generated/types.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import { podResources } from "../../api/pod/pod-resources.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { humanBytes, spokenDuration } from "../amounts.ts";
import type { RequestedSignals } from "../eviction-report.ts";
import { describeSignals } from "../eviction-report.ts";
import type { Overview, Problem } from "../shapes.ts";
import { podRow } from "../tables/pod-row.ts";
import { renderTable } from "../tables/table.ts";
import type { Paint } from "../text.ts";
import { describeEvents } from "./describe-pod.ts";
import { field, pairs, renderFields } from "./fields.ts";
import { nodeObject } from "./node-object.ts";

/** Data of a node's description. */
interface NodeDescription {
  readonly overview: Overview;
  readonly pods: readonly Pod[];
  /** Oldest first. */
  readonly events: readonly CoreEvent[];
  readonly problems: readonly Problem[];
  readonly eviction: RequestedSignals;
}

/** The node in the layout of `kubectl describe`, with the manifests it cannot use and its agent's own use. */
export function describeNode(
  { overview, pods, events, problems, eviction }: NodeDescription,
  now: number,
  paint: Paint,
): readonly string[] {
  const { metadata, status } = nodeObject(overview);
  const { agent, kubernetesVersion, runtime, version } = overview;
  const used = `${humanBytes(agent.residentBytes)}, ${spokenDuration(agent.cpuSeconds * 1000)} of processor time`;
  const active = pods.filter((pod) => !isTerminalPhase(pod.status?.phase));
  return [
    ...renderFields([
      field("Name", metadata?.name),
      field("Labels", pairs(metadata?.labels)),
      field(
        "Addresses",
        status?.addresses?.map(({ type, address }) => field(type, address)),
      ),
      field("Capacity", amountFields(status?.capacity)),
      field("Allocatable", amountFields(status?.allocatable)),
      field("System Info", [
        field("Kubelet", `nodelet ${version} (Kubernetes ${kubernetesVersion})`),
        field("Container Runtime", runtime),
        field("Agent", `up ${humanDuration(now - overview.startedAtMs)}, ${used}`),
      ]),
    ]),
    ...indented("Conditions", conditionLines(status)),
    ...indented("Eviction Signals", describeSignals(eviction, paint)),
    ...indented(`Non-terminated Pods (${active.length})`, podLines(active, now)),
    ...indented("Allocated resources", allocatedLines(active, overview)),
    ...indented(
      "Unusable manifests",
      problems.map(({ origin, message }) => paint("red", `${origin}: ${message}`)),
    ),
    ...indented("Events", describeEvents(events, now, paint)),
  ];
}

function indented(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return renderFields([field(title, undefined)]);
  return [`${title}:`, ...lines.map((line) => `  ${line}`)];
}

function amountFields(amounts: Readonly<Record<string, string>> = {}) {
  return Object.entries(amounts).map(([name, amount]) => field(name, amount));
}

function conditionLines(status: Node["status"]): readonly string[] {
  return renderTable<NodeCondition>(
    [
      { title: "Type", value: ({ type }) => type },
      { title: "Status", value: ({ status: met }) => met },
      { title: "Message", value: ({ message }) => message || " " },
    ],
    status?.conditions ?? [],
  );
}

function podLines(pods: readonly Pod[], now: number): readonly string[] {
  if (pods.length === 0) return [];
  const rows = pods.map((pod) => ({ ...podRow(pod, now), ...resourceTexts(pod) }));
  return renderTable(
    [
      { title: "Namespace", value: ({ namespace }) => namespace },
      { title: "Name", value: ({ name }) => name },
      { title: "CPU Requests", value: ({ cpuRequest }) => cpuRequest },
      { title: "CPU Limits", value: ({ cpuLimit }) => cpuLimit },
      { title: "Memory Requests", value: ({ memoryRequest }) => memoryRequest },
      { title: "Memory Limits", value: ({ memoryLimit }) => memoryLimit },
      { title: "Age", value: ({ age }) => age },
    ],
    rows,
  );
}

function resourceTexts(pod: Pod) {
  const { requests, limits } = podResources(pod);
  return {
    cpuRequest: cpuText(requests.cpuMilli),
    cpuLimit: cpuText(limits.cpuMilli),
    memoryRequest: memoryText(requests.memoryBytes),
    memoryLimit: memoryText(limits.memoryBytes),
  };
}

function cpuText(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}

function memoryText(bytes: number): string {
  return bytes === 0 ? "0" : humanBytes(bytes);
}

function allocatedLines(pods: readonly Pod[], { allocatable }: Overview): readonly string[] {
  const all = pods.map((pod) => podResources(pod));
  const sum = (of: (each: (typeof all)[number]) => number) =>
    all.reduce((total, each) => total + of(each), 0);
  const share = (part: number, whole: number) =>
    whole === 0 ? "" : ` (${Math.floor((part * 100) / whole)}%)`;
  const cpu = [sum(({ requests }) => requests.cpuMilli), sum(({ limits }) => limits.cpuMilli)];
  const memory = [
    sum(({ requests }) => requests.memoryBytes),
    sum(({ limits }) => limits.memoryBytes),
  ];
  const rows = [
    { name: "cpu", texts: cpu.map((milli) => cpuText(milli) + share(milli, allocatable.cpuMilli)) },
    {
      name: "memory",
      texts: memory.map((bytes) => memoryText(bytes) + share(bytes, allocatable.memoryBytes)),
    },
  ];
  return renderTable(
    [
      { title: "Resource", value: ({ name }) => name },
      { title: "Requests", value: ({ texts }) => texts[0] ?? "" },
      { title: "Limits", value: ({ texts }) => texts[1] ?? "" },
    ],
    rows,
  );
}
