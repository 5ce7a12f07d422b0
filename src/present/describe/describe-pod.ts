// pure
import type { DecisionRecord } from "../../api/decisions.ts";
import type {
  Container,
  ContainerStatus,
  CoreEvent,
  Pod,
  PodCondition,
  Toleration,
  Volume,
} from "../../api/generated/types.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { eventRow, eventStyle } from "../tables/event-row.ts";
import { podRow } from "../tables/pod-row.ts";
import { renderTable } from "../tables/table.ts";
import type { Paint } from "../text.ts";
import { storyOf } from "../why/why.ts";
import { describeContainer } from "./describe-container.ts";
import { field, pairs, renderFields, type ShownField } from "./fields.ts";

/** Data of a pod's description. */
interface PodDescription {
  readonly pod: Pod;
  /** Oldest first. */
  readonly events: readonly CoreEvent[];
  /** Oldest first. */
  readonly decisions: readonly DecisionRecord[];
}

/** A pod in the layout of `kubectl describe`, and below it what was decided about it. */
export function describePod(
  { pod, events, decisions }: PodDescription,
  now: number,
  paint: Paint,
): readonly string[] {
  const { spec, status } = pod;
  const sections: ShownField[] = [...headFields(pod, now)];
  const init = containerFields(spec?.initContainers, status?.initContainerStatuses);
  if (init !== undefined) sections.push(field("Init Containers", init));
  sections.push(field("Containers", containerFields(spec?.containers, status?.containerStatuses)));
  return [
    ...renderFields(sections),
    ...table("Conditions", describeConditions(status?.conditions ?? [])),
    ...renderFields([
      field("Volumes", spec?.volumes?.map(describeVolume)),
      field("QoS Class", status?.qosClass),
      field("Node-Selectors", pairs(spec?.nodeSelector)),
      field("Tolerations", spec?.tolerations?.map(describeToleration)),
    ]),
    ...table("Events", describeEvents(events, now, paint)),
    ...table("Decisions", describeDecisions(decisions, now)),
  ];
}

/** Annotation of `kubectl apply` with a copy of the whole object, for kubectl alone. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

function shownAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([name]) => name !== LAST_APPLIED),
  );
}

function headFields(pod: Pod, now: number): readonly ShownField[] {
  const { metadata, spec, status } = pod;
  const host = status?.hostIP === undefined ? "" : `/${status.hostIP}`;
  const addresses = status?.podIPs?.map(({ ip }) => field("IP", ip));
  return [
    field("Name", metadata?.name),
    field("Namespace", metadata?.namespace),
    field("UID", metadata?.uid),
    field("Priority", String(spec?.priority ?? 0)),
    field("Node", spec?.nodeName === undefined ? undefined : `${spec.nodeName}${host}`),
    field("Start Time", status?.startTime),
    field("Labels", pairs(metadata?.labels)),
    field("Annotations", pairs(shownAnnotations(metadata?.annotations), ": ")),
    field("Status", podRow(pod, now).status),
    ...(status?.reason === undefined ? [] : [field("Reason", status.reason)]),
    ...(status?.message === undefined ? [] : [field("Message", status.message)]),
    field("IP", status?.podIP),
    ...(addresses === undefined ? [] : [field("IPs", addresses)]),
  ];
}

function containerFields(
  containers: readonly Container[] | undefined,
  statuses: readonly ContainerStatus[] | undefined,
): readonly ShownField[] | undefined {
  if (containers === undefined || containers.length === 0) return undefined;
  return containers.map((container) =>
    describeContainer(
      container,
      statuses?.find(({ name }) => name === container.name),
    ),
  );
}

/** A heading and an indented table below it, or `<none>` behind it. */
function table(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return renderFields([field(title, undefined)]);
  return [`${title}:`, ...lines.map((line) => `  ${line}`)];
}

function describeConditions(conditions: readonly PodCondition[]): readonly string[] {
  if (conditions.length === 0) return [];
  return renderTable(
    [
      { title: "Type", value: ({ type }: PodCondition) => type },
      { title: "Status", value: ({ status }) => status },
      {
        title: "Reason",
        value: ({ reason, message }) => [reason, message].filter(Boolean).join(": ") || " ",
      },
    ],
    conditions,
  );
}

/** Events as a table; the age is that of the last time. */
export function describeEvents(
  events: readonly CoreEvent[],
  now: number,
  paint: Paint,
): readonly string[] {
  if (events.length === 0) return [];
  const rows = events.map((event) => eventRow(event, now));
  return renderTable(
    [
      { title: "Type", value: ({ type }) => type, style: ({ type }) => eventStyle(type) },
      { title: "Reason", value: ({ reason }) => reason },
      { title: "Age", value: ({ lastSeen }) => lastSeen },
      {
        title: "From",
        value: ({ event }) => event.source?.component ?? event.reportingComponent ?? "",
      },
      {
        title: "Message",
        value: ({ part, message }) => (part === "" ? message : `${part}: ${message}`),
      },
    ],
    rows,
    { paint },
  );
}

function describeDecisions(decisions: readonly DecisionRecord[], now: number): readonly string[] {
  if (decisions.length === 0) return [];
  return renderTable(
    [
      { title: "Age", value: ({ atMs }) => humanDuration(now - atMs) },
      { title: "Decision", value: ({ title }) => title },
      { title: "Why", value: ({ text }) => text },
    ],
    storyOf(decisions),
  );
}

function describeVolume(volume: Volume): string {
  const { name, emptyDir, hostPath, configMap, secret } = volume;
  if (hostPath) return `${name}: hostPath ${hostPath.path}`;
  if (emptyDir) {
    const medium = emptyDir.medium ? ` in ${emptyDir.medium}` : "";
    return `${name}: emptyDir${medium}${emptyDir.sizeLimit ? ` up to ${emptyDir.sizeLimit}` : ""}`;
  }
  if (configMap) return `${name}: configMap ${configMap.name ?? ""}`;
  if (secret) return `${name}: secret ${secret.secretName ?? ""}`;
  const kind = Object.keys(volume).find((key) => key !== "name");
  return `${name}: ${kind ?? "emptyDir"}`;
}

function describeToleration({
  key = "",
  operator,
  value = "",
  effect = "",
  tolerationSeconds,
}: Toleration): string {
  const what = operator === "Exists" || value === "" ? key : `${key}=${value}`;
  const of = effect === "" ? "" : `:${effect}`;
  const exists = operator === "Exists" ? " op=Exists" : "";
  const time = tolerationSeconds === undefined ? "" : ` for ${tolerationSeconds}s`;
  return `${what}${of}${exists}${time}`.trim();
}
