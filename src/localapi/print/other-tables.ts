// pure
/** Tables of the kinds outside the core group (printers.go). */
import type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  CSIDriver,
  CSINode,
  Lease,
  PodCertificateRequest,
  PriorityClass,
  RuntimeClass,
  StorageClass,
  VolumeAttachment,
} from "../../api/generated/types.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { as } from "../api-object.ts";
import type { ObjectTable } from "../kind.ts";
import { DEFAULT_CLASS } from "../storage-class.ts";
import { AGE, ageOf, column, NAME, NONE, orNone } from "./cells.ts";

/** `kubectl get leases`. */
export const LEASE_TABLE: ObjectTable = {
  columns: [NAME, column("Holder"), AGE],
  cells: (object, now) => [
    object.metadata.name,
    as<Lease>(object).spec?.holderIdentity ?? "",
    ageOf(object, now),
  ],
};

/** `kubectl get runtimeclasses`. */
export const RUNTIME_CLASS_TABLE: ObjectTable = {
  columns: [NAME, column("Handler"), AGE],
  cells: (object, now) => [
    object.metadata.name,
    as<RuntimeClass>(object).handler,
    ageOf(object, now),
  ],
};

/** `kubectl get priorityclasses`. */
export const PRIORITY_CLASS_TABLE: ObjectTable = {
  columns: [NAME, column("Value"), column("Global-Default"), AGE, column("PreemptionPolicy")],
  cells: (object, now) => {
    const { value, globalDefault = false, preemptionPolicy } = as<PriorityClass>(object);
    return [
      object.metadata.name,
      String(value),
      String(globalDefault),
      ageOf(object, now),
      orNone(preemptionPolicy),
    ];
  },
};

/** `kubectl get csr`. */
export const SIGNING_REQUEST_TABLE: ObjectTable = {
  columns: [
    NAME,
    AGE,
    column("SignerName"),
    column("Requestor"),
    column("RequestedDuration"),
    column("Condition"),
  ],
  cells: (object, now) => {
    const { spec, status } = as<CertificateSigningRequest>(object);
    const seconds = spec.expirationSeconds;
    const has = (type: string) => status?.conditions?.some((each) => each.type === type) === true;
    const state = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
    const marks = [
      state,
      ...(has("Failed") ? ["Failed"] : []),
      ...((status?.certificate ?? "") === "" ? [] : ["Issued"]),
    ];
    return [
      object.metadata.name,
      ageOf(object, now),
      orNone(spec.signerName),
      spec.username ?? "",
      seconds === undefined ? NONE : humanDuration(seconds * 1000),
      marks.join(","),
    ];
  },
};

/** `kubectl get podcertificaterequests`. */
export const POD_CERTIFICATE_TABLE: ObjectTable = {
  columns: [NAME, column("Pod"), column("SignerName"), column("Condition"), AGE],
  cells: (object, now) => {
    const { spec, status } = as<PodCertificateRequest>(object);
    return [
      object.metadata.name,
      spec.podName,
      spec.signerName,
      status?.conditions?.[0]?.type ?? "Pending",
      ageOf(object, now),
    ];
  },
};

/** `kubectl get clustertrustbundles`. */
export const TRUST_BUNDLE_TABLE: ObjectTable = {
  columns: [NAME, column("SignerName")],
  cells: (object) => {
    const { signerName } = as<ClusterTrustBundle>(object).spec;
    return [object.metadata.name, orNone(signerName)];
  },
};

/** `kubectl get storageclasses`. */
export const STORAGE_CLASS_TABLE: ObjectTable = {
  columns: [
    NAME,
    column("Provisioner"),
    column("ReclaimPolicy"),
    column("VolumeBindingMode"),
    column("AllowVolumeExpansion"),
    AGE,
  ],
  cells: (object, now) => {
    const { provisioner, reclaimPolicy, volumeBindingMode, allowVolumeExpansion } =
      as<StorageClass>(object);
    const isDefault = object.metadata.annotations?.[DEFAULT_CLASS] === "true";
    return [
      `${object.metadata.name}${isDefault ? " (default)" : ""}`,
      provisioner,
      reclaimPolicy ?? "Delete",
      volumeBindingMode ?? "Immediate",
      String(allowVolumeExpansion === true),
      ageOf(object, now),
    ];
  },
};

/** `kubectl get csinodes`. */
export const CSI_NODE_TABLE: ObjectTable = {
  columns: [NAME, column("Drivers"), AGE],
  cells: (object, now) => [
    object.metadata.name,
    String(as<CSINode>(object).spec.drivers.length),
    ageOf(object, now),
  ],
};

/** `kubectl get csidrivers`. */
export const CSI_DRIVER_TABLE: ObjectTable = {
  columns: [
    NAME,
    ...[
      "AttachRequired",
      "PodInfoOnMount",
      "StorageCapacity",
      "TokenRequests",
      "RequiresRepublish",
    ].map((title) => column(title)),
    column("Modes"),
    AGE,
  ],
  cells: (object, now) => {
    const { spec } = as<CSIDriver>(object);
    const { tokenRequests = [], volumeLifecycleModes = [] } = spec;
    return [
      object.metadata.name,
      String(spec.attachRequired !== false),
      String(spec.podInfoOnMount === true),
      String(spec.storageCapacity === true),
      tokenRequests.length === 0
        ? "<unset>"
        : tokenRequests.map(({ audience }) => audience).join(","),
      String(spec.requiresRepublish === true),
      orNone(volumeLifecycleModes.join(",")),
      ageOf(object, now),
    ];
  },
};

/** `kubectl get volumeattachments`. */
export const VOLUME_ATTACHMENT_TABLE: ObjectTable = {
  columns: [NAME, column("Attacher"), column("PV"), column("Node"), column("Attached"), AGE],
  cells: (object, now) => {
    const { spec, status } = as<VolumeAttachment>(object);
    return [
      object.metadata.name,
      spec.attacher,
      spec.source.persistentVolumeName ?? "",
      spec.nodeName,
      String(status?.attached === true),
      ageOf(object, now),
    ];
  },
};
