// pure
/** All resources whose objects are kept. */
import type { CoreEvent } from "../../api/generated/types.ts";
import type { ApiObject } from "../api-object.ts";
import { type Kind, textAt, type Verb } from "../kind.ts";
import * as core from "../print/core-tables.ts";
import {
  NAME_AND_AGE_TABLE,
  RESOURCE_CLAIM_TABLE,
  RESOURCE_SLICE_TABLE,
} from "../print/device-tables.ts";
import * as other from "../print/other-tables.ts";
import * as devices from "./device-rules.ts";
import { CSI_DRIVER_RULES, VOLUME_ATTACHMENT_RULES } from "./driver-rules.ts";
import { keepEvent, showEvent } from "./event-view.ts";
import * as rules from "./other-rules.ts";
import { POD_CERTIFICATE_RULES } from "./pod-certificate-rules.ts";
import { POD_RULES } from "./pod-rules.ts";
import { TRUST_BUNDLE_RULES } from "./trust-bundle-rules.ts";

const ALL_VERBS: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

type Given = Partial<Kind> & Pick<Kind, "kind" | "plural" | "table">;

function kind(given: Given): Kind {
  const { group = "", kind: name, plural } = given;
  return {
    group,
    version: "v1",
    singular: name.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    type: name,
    collection: group === "" ? plural : `${group}/${plural}`,
    verbs: ALL_VERBS,
    hasStatus: false,
    rules: {},
    selectable: {},
    ...given,
  };
}

/** Fields by which objects can be selected, each found by its own path. */
function byPaths(...paths: readonly string[]): Kind["selectable"] {
  return Object.fromEntries(
    paths.map((path) => [path, (object: ApiObject) => textAt(object, ...path.split("."))]),
  );
}

const EVENT_FIELDS: Kind["selectable"] = {
  ...byPaths("reason", "type", "reportingComponent"),
  ...byPaths(
    ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].map(
      (field) => `involvedObject.${field}`,
    ),
  ),
  source: (object) => {
    const { source, reportingComponent } = object as unknown as CoreEvent;
    return source?.component || reportingComponent || "";
  },
};

/** See `KINDS`. */
export const POD_KIND = kind({
  kind: "Pod",
  plural: "pods",
  shortNames: ["po"],
  categories: ["all"],
  hasStatus: true,
  rules: POD_RULES,
  table: core.POD_TABLE,
  selectable: {
    ...byPaths(
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName",
    ),
    "spec.hostNetwork": (object) =>
      textAt(object, "spec", "hostNetwork") === "true" ? "true" : "false",
  },
});

/** See `KINDS`. */
export const NODE_KIND = kind({
  kind: "Node",
  plural: "nodes",
  shortNames: ["no"],
  namespaced: false,
  hasStatus: true,
  rules: rules.NODE_RULES,
  table: core.NODE_TABLE,
  selectable: {
    "spec.unschedulable": (object) =>
      textAt(object, "spec", "unschedulable") === "true" ? "true" : "false",
  },
});

/** See `KINDS`. */
export const NAMESPACE_KIND = kind({
  kind: "Namespace",
  plural: "namespaces",
  shortNames: ["ns"],
  namespaced: false,
  hasStatus: true,
  verbs: ALL_VERBS.filter((verb) => verb !== "deletecollection"),
  rules: rules.NAMESPACE_RULES,
  table: core.NAMESPACE_TABLE,
  selectable: byPaths("status.phase"),
});

/** See `KINDS`. */
export const EVENT_KIND = kind({
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  type: "CoreEvent",
  rules: rules.EVENT_RULES,
  table: core.EVENT_TABLE,
  selectable: EVENT_FIELDS,
});

/** See `KINDS`. */
export const CONFIG_MAP_KIND = kind({
  kind: "ConfigMap",
  plural: "configmaps",
  shortNames: ["cm"],
  rules: rules.CONFIG_MAP_RULES,
  table: core.CONFIG_MAP_TABLE,
});

/** See `KINDS`. */
export const SERVICE_ACCOUNT_KIND = kind({
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  shortNames: ["sa"],
  table: core.SERVICE_ACCOUNT_TABLE,
});

/** See `KINDS`. */
export const PRIORITY_CLASS_KIND = kind({
  group: "scheduling.k8s.io",
  kind: "PriorityClass",
  plural: "priorityclasses",
  shortNames: ["pc"],
  namespaced: false,
  rules: rules.PRIORITY_CLASS_RULES,
  table: other.PRIORITY_CLASS_TABLE,
});

/** See `KINDS`. */
export const RUNTIME_CLASS_KIND = kind({
  group: "node.k8s.io",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
  rules: rules.RUNTIME_CLASS_RULES,
  table: other.RUNTIME_CLASS_TABLE,
});

/** See `KINDS`. */
export const SIGNING_REQUEST_KIND = kind({
  group: "certificates.k8s.io",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  shortNames: ["csr"],
  namespaced: false,
  hasStatus: true,
  rules: rules.SIGNING_REQUEST_RULES,
  table: other.SIGNING_REQUEST_TABLE,
  selectable: byPaths("spec.signerName"),
});

/** See `KINDS`. Signers are programs of the user. */
export const POD_CERTIFICATE_REQUEST_KIND = kind({
  group: "certificates.k8s.io",
  kind: "PodCertificateRequest",
  plural: "podcertificaterequests",
  hasStatus: true,
  rules: POD_CERTIFICATE_RULES,
  table: other.POD_CERTIFICATE_TABLE,
  selectable: byPaths("spec.signerName", "spec.podName", "spec.nodeName"),
});

/** See `KINDS`. */
const TRUST_BUNDLE_KIND = kind({
  group: "certificates.k8s.io",
  kind: "ClusterTrustBundle",
  plural: "clustertrustbundles",
  namespaced: false,
  rules: TRUST_BUNDLE_RULES,
  table: other.TRUST_BUNDLE_TABLE,
  selectable: byPaths("spec.signerName"),
});

/** See `KINDS`. */
export const CLAIMS = kind({
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortNames: ["pvc"],
  hasStatus: true,
  rules: rules.CLAIM_RULES,
  table: core.CLAIM_TABLE,
});

/** See `KINDS`. */
export const VOLUMES = kind({
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  shortNames: ["pv"],
  namespaced: false,
  hasStatus: true,
  rules: rules.VOLUME_RULES,
  table: core.VOLUME_TABLE,
});

/** See `KINDS`. */
export const STORAGE_CLASSES = kind({
  group: "storage.k8s.io",
  kind: "StorageClass",
  plural: "storageclasses",
  shortNames: ["sc"],
  namespaced: false,
  rules: rules.STORAGE_CLASS_RULES,
  table: other.STORAGE_CLASS_TABLE,
});

const RESOURCE_GROUP = "resource.k8s.io";

/** See `KINDS`. */
export const DEVICE_CLASS_KIND = kind({
  group: RESOURCE_GROUP,
  kind: "DeviceClass",
  plural: "deviceclasses",
  namespaced: false,
  rules: devices.DEVICE_CLASS_RULES,
  table: NAME_AND_AGE_TABLE,
});

/** See `KINDS`. */
export const RESOURCE_CLAIM_KIND = kind({
  group: RESOURCE_GROUP,
  kind: "ResourceClaim",
  plural: "resourceclaims",
  type: "DynamicResourceClaim",
  hasStatus: true,
  rules: devices.RESOURCE_CLAIM_RULES,
  table: RESOURCE_CLAIM_TABLE,
});

/** See `KINDS`. */
export const RESOURCE_CLAIM_TEMPLATE_KIND = kind({
  group: RESOURCE_GROUP,
  kind: "ResourceClaimTemplate",
  plural: "resourceclaimtemplates",
  rules: devices.RESOURCE_CLAIM_TEMPLATE_RULES,
  table: NAME_AND_AGE_TABLE,
});

/** See `KINDS`. */
export const RESOURCE_SLICE_KIND = kind({
  group: RESOURCE_GROUP,
  kind: "ResourceSlice",
  plural: "resourceslices",
  namespaced: false,
  rules: devices.RESOURCE_SLICE_RULES,
  table: RESOURCE_SLICE_TABLE,
  selectable: byPaths("spec.nodeName", "spec.driver"),
});

/** Every resource, the core group first. */
export const KINDS: readonly Kind[] = [
  CONFIG_MAP_KIND,
  EVENT_KIND,
  NAMESPACE_KIND,
  NODE_KIND,
  CLAIMS,
  VOLUMES,
  POD_KIND,
  kind({
    kind: "Secret",
    plural: "secrets",
    rules: rules.SECRET_RULES,
    table: core.SECRET_TABLE,
    selectable: byPaths("type"),
  }),
  SERVICE_ACCOUNT_KIND,
  kind({
    kind: "Service",
    plural: "services",
    shortNames: ["svc"],
    categories: ["all"],
    hasStatus: true,
    rules: rules.SERVICE_RULES,
    table: core.SERVICE_TABLE,
  }),
  SIGNING_REQUEST_KIND,
  POD_CERTIFICATE_REQUEST_KIND,
  TRUST_BUNDLE_KIND,
  kind({
    group: "coordination.k8s.io",
    kind: "Lease",
    plural: "leases",
    rules: rules.LEASE_RULES,
    table: other.LEASE_TABLE,
  }),
  {
    ...EVENT_KIND,
    group: "events.k8s.io",
    type: "EventsEvent",
    view: { show: showEvent, keep: keepEvent },
  },
  RUNTIME_CLASS_KIND,
  PRIORITY_CLASS_KIND,
  DEVICE_CLASS_KIND,
  RESOURCE_CLAIM_KIND,
  RESOURCE_CLAIM_TEMPLATE_KIND,
  RESOURCE_SLICE_KIND,
  kind({
    group: "storage.k8s.io",
    kind: "CSIDriver",
    plural: "csidrivers",
    namespaced: false,
    rules: CSI_DRIVER_RULES,
    table: other.CSI_DRIVER_TABLE,
  }),
  kind({
    group: "storage.k8s.io",
    kind: "CSINode",
    plural: "csinodes",
    namespaced: false,
    table: other.CSI_NODE_TABLE,
  }),
  STORAGE_CLASSES,
  kind({
    group: "storage.k8s.io",
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    namespaced: false,
    hasStatus: true,
    rules: VOLUME_ATTACHMENT_RULES,
    table: other.VOLUME_ATTACHMENT_TABLE,
  }),
];

/** The resource of a group by its plural. */
export function findKind(group: string, plural: string): Kind | undefined {
  return KINDS.find((each) => each.group === group && each.plural === plural);
}
