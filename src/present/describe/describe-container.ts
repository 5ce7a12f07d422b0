// pure
import type {
  Container,
  ContainerState,
  ContainerStatus,
  EnvVar,
  Probe,
  VolumeMount,
} from "../../api/generated/types.ts";
import {
  type ProbeAction,
  type ProbeHandlerName,
  probeHandlerOf,
} from "../../api/pod/probe-handlers.ts";
import { field, type ShownField } from "./fields.ts";

/** A container of a pod with its status, as fields. */
export function describeContainer(
  container: Container,
  status: ContainerStatus | undefined,
): ShownField {
  const { name, image, command, args, resources } = container;
  return field(name, [
    field("Container ID", status?.containerID),
    field("Image", image),
    field("Image ID", status?.imageID),
    ...portFields(container),
    ...(command ? [field("Command", command)] : []),
    ...(args ? [field("Args", args)] : []),
    ...stateFields("State", status?.state ?? { waiting: {} }),
    ...(status?.lastState && Object.keys(status.lastState).length > 0
      ? stateFields("Last State", status.lastState)
      : []),
    field("Ready", status?.ready === true ? "True" : "False"),
    field("Restart Count", String(status?.restartCount ?? 0)),
    ...amountFields("Limits", resources?.limits),
    ...amountFields("Requests", resources?.requests),
    ...probeField("Liveness", container.livenessProbe),
    ...probeField("Readiness", container.readinessProbe),
    ...probeField("Startup", container.startupProbe),
    field("Environment", container.env?.map(describeVariable)),
    field("Mounts", container.volumeMounts?.map(describeMount)),
  ]);
}

function portFields({ ports = [] }: Container): readonly ShownField[] {
  const list = (texts: readonly string[]) => (texts.length === 0 ? undefined : texts.join(", "));
  const protocol = ({ protocol = "TCP" }) => protocol;
  const own = ports.map((port) => `${port.containerPort}/${protocol(port)}`);
  const host = ports.map((port) => `${port.hostPort ?? 0}/${protocol(port)}`);
  const plural = ports.length > 1 ? "s" : "";
  return [field(`Port${plural}`, list(own)), field(`Host Port${plural}`, list(host))];
}

/** Fields that describe the present or last state of a container. */
function stateFields(label: string, state: ContainerState): readonly ShownField[] {
  const { running, terminated, waiting } = state;
  if (running) {
    return [field(label, "Running"), ...indented([["Started", running.startedAt]])];
  }
  if (terminated) {
    const details: Detail[] = [
      ["Reason", terminated.reason],
      ["Message", terminated.message],
      ["Exit Code", String(terminated.exitCode)],
      ["Signal", terminated.signal ? String(terminated.signal) : undefined],
      ["Started", terminated.startedAt],
      ["Finished", terminated.finishedAt],
    ];
    return [field(label, "Terminated"), ...indented(details)];
  }
  const details: Detail[] = [
    ["Reason", waiting?.reason],
    ["Message", waiting?.message],
  ];
  return [field(label, "Waiting"), ...indented(details)];
}

function amountFields(
  label: string,
  amounts: Readonly<Record<string, string>> | undefined,
): readonly ShownField[] {
  const entries = Object.entries(amounts ?? {}).toSorted();
  if (entries.length === 0) return [];
  return [
    field(
      label,
      entries.map(([name, amount]) => field(name, amount)),
    ),
  ];
}

type Detail = readonly [label: string, value: string | undefined];

function indented(details: readonly Detail[]): readonly ShownField[] {
  return details
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([label, value]) => field(`  ${label}`, value));
}

function probeField(label: string, probe: Probe | undefined): readonly ShownField[] {
  return probe === undefined ? [] : [field(label, describeProbe(probe))];
}

/** A probe in one line (kubectl DescribeProbe). */
export function describeProbe(probe: Probe): string {
  const { initialDelaySeconds = 0, timeoutSeconds = 1, periodSeconds = 10 } = probe;
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  const figures = [
    `delay=${initialDelaySeconds}s`,
    `timeout=${timeoutSeconds}s`,
    `period=${periodSeconds}s`,
    `#success=${successThreshold}`,
    `#failure=${failureThreshold}`,
  ];
  return `${describeHandler(probe)} ${figures.join(" ")}`;
}

const HANDLER_TEXT: { readonly [K in ProbeHandlerName]: (action: ProbeAction<K>) => string } = {
  exec: ({ command = [] }) => `exec [${command.join(" ")}]`,
  httpGet: ({ scheme = "HTTP", host = "", port, path = "/" }) =>
    `http-get ${scheme.toLowerCase()}://${host}:${port}${path}`,
  tcpSocket: ({ host = "", port }) => `tcp-socket ${host}:${port}`,
  grpc: ({ port, service = "" }) => `grpc <pod>:${port} ${service}`.trimEnd(),
};

function describeHandler(probe: Probe): string {
  const name = probeHandlerOf(probe);
  return name === undefined ? "unknown" : textOf(name, probe);
}

const textOf = <K extends ProbeHandlerName>(name: K, probe: Probe): string =>
  HANDLER_TEXT[name](probe[name] as ProbeAction<K>);

function describeVariable({ name, value, valueFrom }: EnvVar): string {
  if (!valueFrom) return `${name}: ${value ?? ""}`;
  const { secretKeyRef, configMapKeyRef, fieldRef, resourceFieldRef } = valueFrom;
  if (secretKeyRef) return `${name}: <key '${secretKeyRef.key}' of secret '${secretKeyRef.name}'>`;
  if (configMapKeyRef)
    return `${name}: <key '${configMapKeyRef.key}' of config map '${configMapKeyRef.name}'>`;
  if (fieldRef) return `${name}: (${fieldRef.fieldPath})`;
  return `${name}: ${resourceFieldRef ? `(${resourceFieldRef.resource})` : "<set elsewhere>"}`;
}

function describeMount({ name, mountPath, readOnly, subPath }: VolumeMount): string {
  const path = subPath === undefined ? "" : `,path="${subPath}"`;
  return `${mountPath} from ${name} (${readOnly === true ? "ro" : "rw"}${path})`;
}
