// pure
/** Rules of the kinds other than pods, as far as one node needs them (pkg/apis/… validation, defaults). */

import {
  duplicate,
  forbidden,
  invalid,
  required,
  tooLong,
} from "../../api/decode/field-problem.ts";
import { isSame } from "../../api/decode/strategic-diff.ts";
import type {
  CertificateSigningRequest,
  ConfigMap,
  CoreEvent,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PriorityClass,
  RuntimeClass,
  Secret,
  Service,
  StorageClass,
} from "../../api/generated/types.ts";
import { byteLength, configMapKeyFaults, dns1123LabelFaults } from "../../api/text/names.ts";
import type { Problems } from "../../api/validation/fields.ts";
import { nodeUpdateProblems } from "../../api/validation/node-update.ts";
import { bytesToBase64 } from "../../kit/base64.ts";
import { type ApiObject, as } from "../api-object.ts";
import type { KindRules } from "../kind.ts";

const MAX_DATA_BYTES = 1024 * 1024;
const IMMUTABLE = "field is immutable when `immutable` is set";

function dataProblems(
  data: Readonly<Record<string, string>>,
  binary: Readonly<Record<string, string>>,
  path: string,
): Problems {
  const keys = [...Object.keys(data), ...Object.keys(binary)];
  const bytes = Object.values({ ...data, ...binary }).reduce(
    (sum, text) => sum + byteLength(text),
    0,
  );
  return [
    ...keys.flatMap((key) =>
      configMapKeyFaults(key).map((fault) => invalid(`${path}[${key}]`, key, fault)),
    ),
    ...keys
      .filter((key, i) => keys.indexOf(key) !== i)
      .map((key) => duplicate(`${path}[${key}]`, key)),
    ...(bytes > MAX_DATA_BYTES ? [tooLong("", MAX_DATA_BYTES)] : []),
  ];
}

/** Rules of the API for nodes. */
export const NODE_RULES: KindRules = {
  validateChange: (now, before) => nodeUpdateProblems(as<Node>(now), as<Node>(before)),
};

/** Rules of the API for config maps. */
export const CONFIG_MAP_RULES: KindRules = {
  validate: (object) => {
    const { data = {}, binaryData = {} } = as<ConfigMap>(object);
    return dataProblems(data, binaryData, "data");
  },
  validateChange: (now, before) => {
    const [fresh, old] = [as<ConfigMap>(now), as<ConfigMap>(before)];
    if (old.immutable !== true) return [];
    return [
      ...(fresh.immutable === true ? [] : [forbidden("immutable", IMMUTABLE)]),
      ...(isSame(fresh.data ?? {}, old.data ?? {}) ? [] : [forbidden("data", IMMUTABLE)]),
      ...(isSame(fresh.binaryData ?? {}, old.binaryData ?? {})
        ? []
        : [forbidden("binaryData", IMMUTABLE)]),
    ];
  },
};

/** Fields that a type of secret must have. */
const SECRET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

/** Rules of the API for secrets. `stringData` is for writing only. */
export const SECRET_RULES: KindRules = {
  complete: (object) => {
    const { stringData, ...secret } = as<Secret>(object);
    const added = Object.entries(stringData ?? {}).map(([key, text]) => [key, base64(text)]);
    const data = { ...secret.data, ...Object.fromEntries(added) };
    return as<ApiObject>({
      ...secret,
      type: secret.type || "Opaque",
      ...(Object.keys(data).length === 0 ? {} : { data }),
    } as unknown as ApiObject);
  },
  validate: (object) => {
    const { data = {}, type = "" } = as<Secret>(object);
    const missing = (SECRET_FIELDS[type] ?? []).filter((key) => !Object.hasOwn(data, key));
    return [...dataProblems(data, {}, "data"), ...missing.map((key) => required(`data[${key}]`))];
  },
  validateChange: (now, before) => {
    const [fresh, old] = [as<Secret>(now), as<Secret>(before)];
    return [
      ...(fresh.type === old.type ? [] : [invalid("type", fresh.type, "field is immutable")]),
      ...(old.immutable !== true || fresh.immutable === true
        ? []
        : [forbidden("immutable", IMMUTABLE)]),
      ...(old.immutable !== true || isSame(fresh.data ?? {}, old.data ?? {})
        ? []
        : [forbidden("data", IMMUTABLE)]),
    ];
  },
};

const base64 = (text: string): string => bytesToBase64(new TextEncoder().encode(text));

/** Rules of the API for namespaces. */
export const NAMESPACE_RULES: KindRules = {
  begin: (object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: {
        ...object.metadata.labels,
        "kubernetes.io/metadata.name": object.metadata.name,
      },
    },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  }),
  // Finalizers are taken off through `finalize`.
  keep: (now, before) => ({ ...now, spec: as<Namespace>(before).spec }),
  validate: ({ metadata: { name } }) =>
    dns1123LabelFaults(name).map((fault) => invalid("metadata.name", name, fault)),
};

/** Rules of the API for leases. */
export const LEASE_RULES: KindRules = {
  validate: (object) => {
    const { leaseDurationSeconds: seconds, leaseTransitions: count } = as<Lease>(object).spec ?? {};
    return [
      ...(seconds !== undefined && seconds <= 0
        ? [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
        : []),
      ...(count !== undefined && count < 0
        ? [invalid("spec.leaseTransitions", count, "must be greater than or equal to 0")]
        : []),
    ];
  },
};

/** Rules of the API for events. */
export const EVENT_RULES: KindRules = {
  validate: (object) => {
    const { involvedObject: of } = as<CoreEvent>(object);
    const namespace = object.metadata.namespace ?? "";
    const fits = (of.namespace ?? "") === "" ? namespace === "default" : of.namespace === namespace;
    return fits || (of.namespace ?? "") === ""
      ? []
      : [invalid("involvedObject.namespace", of.namespace, "does not match event.namespace")];
  },
};

const HIGHEST_USER_PRIORITY = 1_000_000_000;

/** Rules of the API for priority classes. */
export const PRIORITY_CLASS_RULES: KindRules = {
  complete: (object) => ({
    ...object,
    preemptionPolicy: as<PriorityClass>(object).preemptionPolicy ?? "PreemptLowerPriority",
  }),
  validate: (object) => {
    const { value = 0 } = as<PriorityClass>(object);
    const name = object.metadata.name;
    if (name.startsWith("system-")) return [];
    return value > HIGHEST_USER_PRIORITY
      ? [
          forbidden(
            "value",
            `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`,
          ),
        ]
      : [];
  },
  validateChange: (now, before) =>
    as<PriorityClass>(now).value === as<PriorityClass>(before).value
      ? []
      : [forbidden("value", "may not be changed in an update.")],
};

/** Rules of the API for runtime classes. */
export const RUNTIME_CLASS_RULES: KindRules = {
  validate: (object) => {
    const { handler } = as<RuntimeClass>(object);
    return dns1123LabelFaults(handler).map((fault) => invalid("handler", handler, fault));
  },
  validateChange: (now, before) => {
    const { handler } = as<RuntimeClass>(now);
    return handler === as<RuntimeClass>(before).handler
      ? []
      : [invalid("handler", handler, "field is immutable")];
  },
};

/** Keeps a claim as long as pods use it (StorageObjectInUseProtection). */
export const CLAIM_IN_USE = "kubernetes.io/pvc-protection";
/** Keeps a volume as long as it is bound. */
export const VOLUME_IN_USE = "kubernetes.io/pv-protection";

const heldBy = ({ metadata }: ApiObject, finalizer: string): ApiObject["metadata"] => ({
  ...metadata,
  finalizers: [...new Set([...(metadata.finalizers ?? []), finalizer])],
});

/** Rules of the API for persistent volumes. */
export const VOLUME_RULES: KindRules = {
  complete: (object) => {
    const { spec } = as<PersistentVolume>(object);
    return {
      ...object,
      spec: {
        ...spec,
        persistentVolumeReclaimPolicy: spec?.persistentVolumeReclaimPolicy ?? "Retain",
        volumeMode: spec?.volumeMode ?? "Filesystem",
      },
    };
  },
  begin: (object) => ({
    ...object,
    metadata: heldBy(object, VOLUME_IN_USE),
    status: { phase: "Pending" },
  }),
  validate: (object) => {
    const { spec } = as<PersistentVolume>(object);
    return [
      ...((spec?.accessModes ?? []).length === 0 ? [required("spec.accessModes")] : []),
      ...(Object.keys(spec?.capacity ?? {}).length === 0 ? [required("spec.capacity")] : []),
    ];
  },
};

/** Rules of the API for storage classes. */
export const STORAGE_CLASS_RULES: KindRules = {
  complete: (object) => {
    const { reclaimPolicy, volumeBindingMode } = as<StorageClass>(object);
    return {
      ...object,
      reclaimPolicy: reclaimPolicy ?? "Delete",
      volumeBindingMode: volumeBindingMode ?? "Immediate",
    };
  },
  validate: (object) =>
    as<StorageClass>(object).provisioner === "" ? [required("provisioner")] : [],
};

/** Rules of the API for claims for persistent volumes. */
export const CLAIM_RULES: KindRules = {
  complete: (object) => {
    const { spec } = as<PersistentVolumeClaim>(object);
    return { ...object, spec: { ...spec, volumeMode: spec?.volumeMode ?? "Filesystem" } };
  },
  begin: (object) => ({
    ...object,
    metadata: heldBy(object, CLAIM_IN_USE),
    status: { phase: "Pending" },
  }),
  validate: (object) => {
    const { spec } = as<PersistentVolumeClaim>(object);
    return [
      ...((spec?.accessModes ?? []).length === 0
        ? [required("spec.accessModes", "at least 1 access mode is required")]
        : []),
      ...(spec?.resources?.requests?.["storage"] === undefined
        ? [required("spec.resources[storage]")]
        : []),
    ];
  },
};

/** Rules of the API for services. Addresses are given by a cluster; here a service has none. */
export const SERVICE_RULES: KindRules = {
  warn: () => [
    "this API keeps services for export only: nothing gives them addresses or DNS names. Reach a pod by its IP, a hostPort or kubectl port-forward",
  ],
  complete: (object) => {
    const { spec } = as<Service>(object);
    const ports = (spec?.ports ?? []).map((port) => ({
      ...port,
      protocol: port.protocol ?? "TCP",
      targetPort: port.targetPort ?? port.port,
    }));
    return {
      ...object,
      spec: {
        ...spec,
        type: spec?.type ?? "ClusterIP",
        sessionAffinity: spec?.sessionAffinity ?? "None",
        ...(ports.length === 0 ? {} : { ports }),
      },
    };
  },
  begin: (object) => ({ ...object, status: { loadBalancer: {} } }),
};

/** Rules of the API for certificate signing requests. Who asks is filled in where they are made. */
export const SIGNING_REQUEST_RULES: KindRules = {
  begin: (object) => ({ ...object, status: {} }),
  keep: (now, before) => ({ ...now, spec: as<CertificateSigningRequest>(before).spec }),
  validate: (object) => {
    const { request, signerName, usages = [] } = as<CertificateSigningRequest>(object).spec;
    return [
      ...(request === "" ? [required("spec.request")] : []),
      ...(signerName === "" ? [required("spec.signerName")] : []),
      ...(usages.length === 0 ? [required("spec.usages")] : []),
    ];
  },
};
