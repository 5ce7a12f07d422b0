// pure
import {
  type FieldProblem,
  invalid,
  required,
  tooLong,
  unsupported,
} from "../../decode/field-problem.ts";
import {
  byteLength,
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  inclusiveRange,
  LABEL_MAX,
} from "../../text/names.ts";
import { child, entry, FINE, faultsAt, type Problems, sortedEntries } from "../fields.ts";
import type { VolumeChecks } from "./volume-checks.ts";

const MAX_INITIATOR_LENGTH = 64;
const IQN = /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/;
const EUI = /^eui.[A-Za-z0-9]{16}$/;
const NAA = /^naa.[A-Za-z0-9]{32}$/;
const CACHING_MODES = ["None", "ReadOnly", "ReadWrite"] as const;
const DISK_KINDS = ["Dedicated", "Managed", "Shared"] as const;
const MANAGED_DISK =
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

/** `Required value` for every named text that is empty or absent. */
const need = <T extends object>(source: T, path: string, ...names: (keyof T & string)[]) =>
  names.filter((name) => (source[name] ?? "") === "").map((name) => required(child(path, name)));

const inRange = (value: number | undefined, path: string, message: string): Problems =>
  value !== undefined && (value < 0 || value > 255) ? [invalid(path, value, message)] : FINE;

const noneOf = (list: readonly string[] | undefined, path: string): Problems =>
  (list ?? []).length === 0 ? [required(path)] : FINE;

function initiatorProblems(name: string, path: string): Problems {
  const expression = [
    ["iqn", IQN],
    ["eui", EUI],
    ["naa", NAA],
  ] as const;
  const format = expression.find(([prefix]) => name.startsWith(prefix));
  if (format === undefined)
    return [invalid(path, name, "must be valid format starting with iqn, eui, or naa")];
  return format[1].test(name) ? FINE : [invalid(path, name, "must be valid format")];
}

const isHostPort = (pair: string): boolean => {
  const colon = pair.lastIndexOf(":");
  const host = pair.slice(0, colon);
  return colon >= 0 && (!host.includes(":") || (host.startsWith("[") && host.endsWith("]")));
};

function azureDiskUriProblems(kind: string | undefined, uri: string, path: string): Problems {
  if (kind === undefined) return FINE;
  if (kind === "Managed")
    return uri.startsWith("/subscriptions/") ? FINE : [unsupported(path, uri, [MANAGED_DISK])];
  return uri.startsWith("https://") ? FINE : [unsupported(path, uri, [BLOB_DISK])];
}

function driverProblems(driver: string, path: string): Problems {
  const problems: FieldProblem[] = driver === "" ? [required(path)] : [];
  if (byteLength(driver) > LABEL_MAX) problems.push(tooLong(path, LABEL_MAX));
  return [...problems, ...faultsAt(path, driver, dns1123SubdomainFaults(driver.toLowerCase()))];
}

const SIMULTANEOUSLY = "can not be specified simultaneously";

/** Volumes that live elsewhere: file servers, block devices, clouds. */
export const REMOTE_VOLUMES = {
  awsElasticBlockStore: (source, path) => [
    ...need(source, path, "volumeID"),
    ...inRange(source.partition, child(path, "partition"), inclusiveRange(1, 255)),
  ],
  gcePersistentDisk: (source, path) => [
    ...need(source, path, "pdName"),
    ...inRange(source.partition, child(path, "partition"), inclusiveRange(1, 255)),
  ],
  nfs: (source, path) => [
    ...need(source, path, "server", "path"),
    ...(source.path.startsWith("/")
      ? []
      : [invalid(child(path, "path"), source.path, "must be an absolute path")]),
  ],
  iscsi: (source, path, { volumeName }) => {
    const { initiatorName, iqn, chapAuthDiscovery, chapAuthSession, secretRef } = source;
    const chap = chapAuthDiscovery === true || chapAuthSession === true;
    const long = byteLength(`${volumeName}:${source.targetPortal}`) > MAX_INITIATOR_LENGTH;
    return [
      ...need(source, path, "targetPortal", "iqn"),
      ...(iqn === "" ? FINE : initiatorProblems(iqn, child(path, "iqn"))),
      ...inRange(source.lun, child(path, "lun"), inclusiveRange(0, 255)),
      ...(chap && secretRef === undefined ? [required(child(path, "secretRef"))] : []),
      ...(initiatorName === undefined
        ? FINE
        : initiatorProblems(initiatorName, child(path, "initiatorName"))),
      ...(initiatorName !== undefined && long
        ? [
            invalid(
              path.replace(/iscsi$/, "name"),
              volumeName,
              "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
            ),
          ]
        : []),
    ];
  },
  glusterfs: (source, path) => need(source, path, "endpoints", "path"),
  flocker: ({ datasetName = "", datasetUUID = "" }, path) => [
    ...(datasetName === "" && datasetUUID === ""
      ? [required(path, "one of datasetName and datasetUUID is required")]
      : []),
    ...(datasetName !== "" && datasetUUID !== ""
      ? [invalid(path, "resource", `datasetName and datasetUUID ${SIMULTANEOUSLY}`)]
      : []),
    ...(datasetName.includes("/")
      ? [invalid(child(path, "datasetName"), datasetName, "must not contain '/'")]
      : []),
  ],
  rbd: (source, path) => [
    ...noneOf(source.monitors, child(path, "monitors")),
    ...need(source, path, "image"),
  ],
  cinder: (source, path) => [
    ...need(source, path, "volumeID"),
    ...(source.secretRef === undefined
      ? []
      : need(source.secretRef, child(path, "secretRef"), "name")),
  ],
  cephfs: ({ monitors }, path) => noneOf(monitors, child(path, "monitors")),
  quobyte: (source, path) => {
    const { registry, tenant = "" } = source;
    const pairs = "must be a host:port pair or multiple pairs separated by commas";
    const at = child(path, "registry");
    const first = (): Problems => {
      if (registry === "") return [required(at, pairs)];
      if (byteLength(tenant) >= 65)
        return [
          required(
            child(path, "tenant"),
            "must be a UUID and may not exceed a length of 64 characters",
          ),
        ];
      return registry
        .split(",")
        .filter((pair) => !isHostPort(pair))
        .map(() => invalid(at, registry, pairs));
    };
    return [...first(), ...need(source, path, "volume")];
  },
  fc: ({ targetWWNs = [], wwids = [], lun }, path) => [
    ...(targetWWNs.length === 0 && wwids.length === 0
      ? [
          required(
            child(path, "targetWWNs"),
            "must specify either targetWWNs or wwids, but not both",
          ),
        ]
      : []),
    ...(targetWWNs.length > 0 && wwids.length > 0
      ? [invalid(child(path, "targetWWNs"), targetWWNs, `targetWWNs and wwids ${SIMULTANEOUSLY}`)]
      : []),
    ...(targetWWNs.length > 0 && lun === undefined
      ? [required(child(path, "lun"), "lun is required if targetWWNs is specified")]
      : []),
    ...(targetWWNs.length > 0 ? inRange(lun, child(path, "lun"), inclusiveRange(0, 255)) : FINE),
  ],
  flexVolume: (source, path) => [
    ...need(source, path, "driver"),
    ...sortedEntries(source.options).flatMap(([key]) => {
      const domain = `.${(key.split("/")[0] ?? "").toLowerCase()}`;
      const reserved = domain.endsWith(".kubernetes.io") || domain.endsWith(".k8s.io");
      return reserved
        ? [
            invalid(
              entry(child(path, "options"), key),
              key,
              "kubernetes.io and k8s.io namespaces are reserved",
            ),
          ]
        : FINE;
    }),
  ],
  azureFile: (source, path) => need(source, path, "secretName", "shareName"),
  azureDisk: (source, path) => {
    const { cachingMode, kind } = source;
    return [
      ...need(source, path, "diskName", "diskURI"),
      ...(cachingMode === undefined || (CACHING_MODES as readonly string[]).includes(cachingMode)
        ? []
        : [unsupported(child(path, "cachingMode"), cachingMode, CACHING_MODES)]),
      ...(kind === undefined || (DISK_KINDS as readonly string[]).includes(kind)
        ? []
        : [unsupported(child(path, "kind"), kind, DISK_KINDS)]),
      ...azureDiskUriProblems(kind, source.diskURI, child(path, "diskURI")),
    ];
  },
  vsphereVolume: (source, path) => need(source, path, "volumePath"),
  photonPersistentDisk: (source, path) => need(source, path, "pdID"),
  portworxVolume: (source, path) => need(source, path, "volumeID"),
  scaleIO: (source, path) => need(source, path, "gateway", "system", "volumeName"),
  storageos: (source, path) => {
    const { volumeName = "", volumeNamespace = "", secretRef } = source;
    return [
      ...(volumeName === ""
        ? [required(child(path, "volumeName"))]
        : faultsAt(child(path, "volumeName"), volumeName, dns1123LabelFaults(volumeName))),
      ...(volumeNamespace === ""
        ? FINE
        : faultsAt(
            child(path, "volumeNamespace"),
            volumeNamespace,
            dns1123LabelFaults(volumeNamespace),
          )),
      ...(secretRef === undefined ? [] : need(secretRef, child(path, "secretRef"), "name")),
    ];
  },
  csi: (source, path) => {
    const secret = source.nodePublishSecretRef;
    const at = child(path, "nodePublishSecretRef.name");
    return [
      ...driverProblems(source.driver, child(path, "driver")),
      ...(secret === undefined
        ? FINE
        : (secret.name ?? "") === ""
          ? [required(at)]
          : faultsAt(at, secret.name, dns1123SubdomainFaults(secret.name ?? ""))),
    ];
  },
} satisfies Partial<VolumeChecks>;
