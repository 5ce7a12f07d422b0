// pure
import type {
  CertificateSigningRequest,
  ConfigMap,
  CoreEvent,
  CSIDriver,
  CSINode,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCertificateRequest,
  PriorityClass,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
  VolumeAttachment,
} from "../../api/generated/types.ts";
import type { ResourceClaimObject } from "../../api/resource-claim-object.ts";

declare const object: unique symbol;

/** A kind of objects and where the API has it. `T` is the type of its objects. */
export interface Resource<T> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly [object]?: T;
}

function resource<T>(
  group: string,
  kind: string,
  plural: string,
  scope: "namespaced" | "cluster",
): Resource<T> {
  return { group, version: "v1", kind, plural, namespaced: scope === "namespaced" };
}

/** The resources that an agent has to do with. */
export const PODS = resource<Pod>("", "Pod", "pods", "namespaced");
/** See `PODS`. */
export const NODES = resource<Node>("", "Node", "nodes", "cluster");
/** See `PODS`. */
export const NAMESPACES = resource<Namespace>("", "Namespace", "namespaces", "cluster");
/** See `PODS`. */
export const SECRETS = resource<Secret>("", "Secret", "secrets", "namespaced");
/** See `PODS`. */
export const CONFIG_MAPS = resource<ConfigMap>("", "ConfigMap", "configmaps", "namespaced");
/** See `PODS`. */
export const SERVICES = resource<Service>("", "Service", "services", "namespaced");
/** See `PODS`. */
export const EVENTS = resource<CoreEvent>("", "Event", "events", "namespaced");
/** See `PODS`. */
export const SERVICE_ACCOUNTS = resource<ServiceAccount>(
  "",
  "ServiceAccount",
  "serviceaccounts",
  "namespaced",
);
/** See `PODS`. */
export const RESOURCE_CLAIMS = resource<ResourceClaimObject>(
  "resource.k8s.io",
  "ResourceClaim",
  "resourceclaims",
  "namespaced",
);
/** See `PODS`. Drivers write them, a node only deletes those of drivers that are gone. */
export const RESOURCE_SLICES = resource<object>(
  "resource.k8s.io",
  "ResourceSlice",
  "resourceslices",
  "cluster",
);
/** See `PODS`. */
export const PERSISTENT_VOLUMES = resource<PersistentVolume>(
  "",
  "PersistentVolume",
  "persistentvolumes",
  "cluster",
);
/** See `PODS`. */
export const PERSISTENT_VOLUME_CLAIMS = resource<PersistentVolumeClaim>(
  "",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
  "namespaced",
);
/** See `PODS`. */
export const CSI_NODES = resource<CSINode>("storage.k8s.io", "CSINode", "csinodes", "cluster");
/** See `PODS`. */
export const CSI_DRIVERS = resource<CSIDriver>(
  "storage.k8s.io",
  "CSIDriver",
  "csidrivers",
  "cluster",
);
/** See `PODS`. A node may ask for those of its own by their names, and for no list. */
export const VOLUME_ATTACHMENTS = resource<VolumeAttachment>(
  "storage.k8s.io",
  "VolumeAttachment",
  "volumeattachments",
  "cluster",
);
/** See `PODS`. */
export const LEASES = resource<Lease>("coordination.k8s.io", "Lease", "leases", "namespaced");
/** See `PODS`. */
export const RUNTIME_CLASSES = resource<RuntimeClass>(
  "node.k8s.io",
  "RuntimeClass",
  "runtimeclasses",
  "cluster",
);
/** See `PODS`. */
export const PRIORITY_CLASSES = resource<PriorityClass>(
  "scheduling.k8s.io",
  "PriorityClass",
  "priorityclasses",
  "cluster",
);
/** See `PODS`. */
export const SIGNING_REQUESTS = resource<CertificateSigningRequest>(
  "certificates.k8s.io",
  "CertificateSigningRequest",
  "certificatesigningrequests",
  "cluster",
);
/**
 * See `PODS`. In the versions that API servers serve, the newest first: the stable one since 1.37, the other one with the
 * feature gate PodCertificateRequest (KEP-4317). The agent's fields are the same in both.
 */
export const POD_CERTIFICATE_REQUESTS: readonly Resource<PodCertificateRequest>[] = [
  "v1",
  "v1beta1",
].map((version) => ({
  group: "certificates.k8s.io",
  version,
  kind: "PodCertificateRequest",
  plural: "podcertificaterequests",
  namespaced: true,
}));
/** Answered at once, never kept. */
export const TOKEN_REVIEWS = resource<TokenReview>(
  "authentication.k8s.io",
  "TokenReview",
  "tokenreviews",
  "cluster",
);
/** Answered at once, never kept. */
export const ACCESS_REVIEWS = resource<SubjectAccessReview>(
  "authorization.k8s.io",
  "SubjectAccessReview",
  "subjectaccessreviews",
  "cluster",
);

/** Subresource `token` of a service account: answered at once, never kept. Of the group `authentication.k8s.io`. */
export const TOKEN_REQUESTS = resource<TokenRequest>(
  "",
  "TokenRequest",
  "serviceaccounts",
  "namespaced",
);

/** One object or, without a name, all objects of a kind. */
export interface ObjectPlace {
  /** Left out: all namespaces, or a resource of the cluster. */
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Values of a query; what is undefined is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Path and query of an object or a collection. */
export function apiPath(
  kind: Omit<Resource<unknown>, typeof object>,
  place: ObjectPlace,
  query: Query = {},
): string {
  const { group, version, plural, namespaced } = kind;
  const { namespace, name, subresource } = place;
  const parts = group === "" ? ["api", version] : ["apis", group, version];
  if (namespaced && namespace !== undefined) parts.push("namespaces", namespace);
  parts.push(plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  const path = parts.map(encodeURIComponent).join("/");
  const text = queryText(query);
  return text === "" ? `/${path}` : `/${path}?${text}`;
}

function queryText(query: Query): string {
  return Object.entries(query)
    .filter((entry): entry is [string, string | number | boolean] => entry[1] !== undefined)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join("&");
}
