// pure
/** Tables of the core group's kinds (printers.go). */
import type {
  ConfigMap,
  CoreEvent,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
} from "../../api/generated/types.ts";
import { summarizePod } from "../../api/pod/pod-summary.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { as } from "../api-object.ts";
import type { ObjectTable } from "../kind.ts";
import {
  AGE,
  age,
  ageOf,
  column,
  labelsText,
  NAME,
  NONE,
  orNone,
  UNSET,
  wideColumn,
} from "./cells.ts";

/** `kubectl get pods`. */
export const POD_TABLE: ObjectTable = {
  columns: [
    NAME,
    column("Ready"),
    column("Status"),
    column("Restarts"),
    AGE,
    wideColumn("IP"),
    wideColumn("Node"),
    wideColumn("Nominated Node"),
    wideColumn("Readiness Gates"),
  ],
  cells: (object, now) => {
    const { spec, status } = as<Pod>(object);
    const summary = summarizePod(as<Pod>(object));
    const { restarts, lastRestartMs } = summary;
    const ago = lastRestartMs === undefined ? "" : ` (${humanDuration(now - lastRestartMs)} ago)`;
    const gates = spec?.readinessGates ?? [];
    const open = gates.filter(({ conditionType }) =>
      status?.conditions?.some((each) => each.type === conditionType && each.status === "True"),
    );
    return [
      object.metadata.name,
      `${summary.ready}/${summary.total}`,
      summary.reason,
      restarts === 0 ? "0" : `${restarts}${ago}`,
      ageOf(object, now),
      orNone(status?.podIPs?.[0]?.ip ?? status?.podIP),
      orNone(spec?.nodeName),
      orNone(status?.nominatedNodeName),
      gates.length === 0 ? NONE : `${open.length}/${gates.length}`,
    ];
  },
};

/** `kubectl get nodes`. */
export const NODE_TABLE: ObjectTable = {
  columns: [
    NAME,
    column("Status"),
    column("Roles"),
    AGE,
    column("Version"),
    wideColumn("Internal-IP"),
    wideColumn("External-IP"),
    wideColumn("OS-Image"),
    wideColumn("Kernel-Version"),
    wideColumn("Container-Runtime"),
  ],
  cells: (object, now) => {
    const { status } = as<Node>(object);
    const facts = status?.nodeInfo;
    const known = (text: string | undefined) => (text ? text : "<unknown>");
    const addressOf = (type: string) =>
      orNone(status?.addresses?.find((each) => each.type === type)?.address);
    return [
      object.metadata.name,
      nodeStatus(as<Node>(object)),
      nodeRoles(object.metadata.labels ?? {}),
      ageOf(object, now),
      facts?.kubeletVersion ?? "",
      addressOf("InternalIP"),
      addressOf("ExternalIP"),
      known(facts?.osImage),
      known(facts?.kernelVersion),
      known(facts?.containerRuntimeVersion),
    ];
  },
};

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const word = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

const ROLE_PREFIX = "node-role.kubernetes.io/";

function nodeRoles(labels: Readonly<Record<string, string>>): string {
  const roles = Object.entries(labels).flatMap(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX)) return [key.slice(ROLE_PREFIX.length)];
    return key === "kubernetes.io/role" && value !== "" ? [value] : [];
  });
  return orNone([...new Set(roles.filter((role) => role !== ""))].toSorted().join(","));
}

/** `kubectl get namespaces`. */
export const NAMESPACE_TABLE: ObjectTable = {
  columns: [NAME, column("Status"), AGE],
  cells: (object, now) => {
    const { status } = as<Namespace>(object);
    return [object.metadata.name, status?.phase ?? "", ageOf(object, now)];
  },
};

/** `kubectl get events`. */
export const EVENT_TABLE: ObjectTable = {
  columns: [
    column("Last Seen"),
    column("Type"),
    column("Reason"),
    column("Object"),
    wideColumn("Subobject"),
    wideColumn("Source"),
    column("Message"),
    wideColumn("First Seen"),
    wideColumn("Count"),
    { ...NAME, priority: 1 },
  ],
  cells: (object, now) => {
    const event = as<CoreEvent>(object);
    const { involvedObject: of, series, source } = event;
    const first = event.firstTimestamp ?? event.eventTime;
    const last = series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime;
    const count = series?.count ?? event.count ?? 1;
    const from = source?.component || event.reportingComponent || "";
    const host = source?.host ?? "";
    return [
      age(last ?? undefined, now),
      event.type ?? "",
      event.reason ?? "",
      `${(of.kind ?? "").toLowerCase()}/${of.name ?? ""}`,
      of.fieldPath ?? "",
      host === "" ? from : `${from}, ${host}`,
      (event.message ?? "").trim(),
      age(first ?? undefined, now),
      String(count === 0 ? 1 : count),
      object.metadata.name,
    ];
  },
};

/** `kubectl get configmaps`. */
export const CONFIG_MAP_TABLE: ObjectTable = {
  columns: [NAME, column("Data"), AGE],
  cells: (object, now) => {
    const { data = {}, binaryData = {} } = as<ConfigMap>(object);
    const count = Object.keys(data).length + Object.keys(binaryData).length;
    return [object.metadata.name, String(count), ageOf(object, now)];
  },
};

/** `kubectl get secrets`. */
export const SECRET_TABLE: ObjectTable = {
  columns: [NAME, column("Type"), column("Data"), AGE],
  cells: (object, now) => {
    const { type = "", data = {} } = as<Secret>(object);
    const count = String(Object.keys(data).length);
    return [object.metadata.name, type, count, ageOf(object, now)];
  },
};

/** `kubectl get serviceaccounts`. */
export const SERVICE_ACCOUNT_TABLE: ObjectTable = {
  columns: [NAME, column("Secrets"), AGE],
  cells: (object, now) => {
    const count = as<ServiceAccount>(object).secrets?.length ?? 0;
    return [object.metadata.name, String(count), ageOf(object, now)];
  },
};

const MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

const modesText = (modes: readonly string[] | undefined): string =>
  [...new Set(modes ?? [])].map((mode) => MODES[mode] ?? mode).join(",");

/** `kubectl get persistentvolumes`. */
export const VOLUME_TABLE: ObjectTable = {
  columns: [
    NAME,
    column("Capacity"),
    column("Access Modes"),
    column("Reclaim Policy"),
    column("Status"),
    column("Claim"),
    column("StorageClass"),
    column("VolumeAttributesClass"),
    column("Reason"),
    AGE,
    wideColumn("VolumeMode"),
  ],
  cells: (object, now) => {
    const { spec, status } = as<PersistentVolume>(object);
    const claim = spec?.claimRef;
    const phase = status?.phase ?? "";
    return [
      object.metadata.name,
      spec?.capacity?.["storage"] ?? "",
      modesText(spec?.accessModes),
      spec?.persistentVolumeReclaimPolicy ?? "",
      object.metadata.deletionTimestamp === undefined ? phase : "Terminating",
      claim === undefined ? "" : `${claim.namespace ?? ""}/${claim.name ?? ""}`,
      spec?.storageClassName ?? "",
      spec?.volumeAttributesClassName ?? UNSET,
      status?.reason ?? "",
      ageOf(object, now),
      spec?.volumeMode ?? UNSET,
    ];
  },
};

/** `kubectl get persistentvolumeclaims`. */
export const CLAIM_TABLE: ObjectTable = {
  columns: [
    NAME,
    column("Status"),
    column("Volume"),
    column("Capacity"),
    column("Access Modes"),
    column("StorageClass"),
    column("VolumeAttributesClass"),
    AGE,
    wideColumn("VolumeMode"),
  ],
  cells: (object, now) => {
    const { spec, status } = as<PersistentVolumeClaim>(object);
    const bound = (spec?.volumeName ?? "") !== "";
    const phase = status?.phase ?? "";
    return [
      object.metadata.name,
      object.metadata.deletionTimestamp === undefined ? phase : "Terminating",
      spec?.volumeName ?? "",
      bound ? (status?.capacity?.["storage"] ?? "") : "",
      bound ? modesText(status?.accessModes) : "",
      spec?.storageClassName ?? "",
      spec?.volumeAttributesClassName ?? UNSET,
      ageOf(object, now),
      spec?.volumeMode ?? UNSET,
    ];
  },
};

/** `kubectl get services`. */
export const SERVICE_TABLE: ObjectTable = {
  columns: [
    NAME,
    column("Type"),
    column("Cluster-IP"),
    column("External-IP"),
    column("Port(s)"),
    AGE,
    wideColumn("Selector"),
  ],
  cells: (object, now) => {
    const { spec } = as<Service>(object);
    const ports = (spec?.ports ?? []).map(({ port, nodePort, protocol = "TCP" }) =>
      nodePort === undefined || nodePort === 0
        ? `${port}/${protocol}`
        : `${port}:${nodePort}/${protocol}`,
    );
    return [
      object.metadata.name,
      spec?.type ?? "",
      orNone(spec?.clusterIP),
      orNone(spec?.externalIPs?.join(",")),
      orNone(ports.join(",")),
      ageOf(object, now),
      labelsText(spec?.selector),
    ];
  },
};
