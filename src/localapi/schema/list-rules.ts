// pure
/** How the lists of the API's types are merged: what distinguishes their elements. */

/** Lists without a rule are replaced as a whole. */
export interface ListRule {
  /** Field by which a strategic merge patch finds elements; none in a list of plain values. */
  readonly mergeKey?: string;
  /** Fields by which server-side apply does; none in a set of plain values. */
  readonly mapKeys: readonly string[];
  /** Whether `$retainKeys` of a patch is to be expected (x-kubernetes-patch-strategy). */
  readonly retainKeys?: true;
}

const by = (mergeKey: string, ...others: readonly string[]): ListRule => ({
  mergeKey,
  mapKeys: [mergeKey, ...others],
});
const retaining = (mergeKey: string): ListRule => ({ ...by(mergeKey), retainKeys: true });
const SET: ListRule = { mapKeys: [] };

const CONTAINER: Readonly<Record<string, ListRule>> = {
  env: by("name"),
  ports: by("containerPort", "protocol"),
  volumeDevices: by("devicePath"),
  volumeMounts: by("mountPath"),
};

/** By type and field (`patchMergeKey`, `listType` and `listMapKey` in k8s.io/api 1.36). */
const RULES: Readonly<Record<string, Readonly<Record<string, ListRule>>>> = {
  CSINodeSpec: { drivers: by("name") },
  CertificateSigningRequestStatus: { conditions: by("type") },
  Container: CONTAINER,
  ContainerStatus: { allocatedResourcesStatus: by("name"), volumeMounts: by("mountPath") },
  EphemeralContainer: CONTAINER,
  NamespaceStatus: { conditions: by("type") },
  NodeSpec: { podCIDRs: SET },
  NodeStatus: { addresses: by("type"), conditions: by("type") },
  ObjectMeta: { finalizers: SET, ownerReferences: by("uid") },
  PersistentVolumeClaimStatus: { conditions: by("type") },
  PodCertificateRequestStatus: { conditions: by("type") },
  PodSpec: {
    containers: by("name"),
    ephemeralContainers: by("name"),
    hostAliases: by("ip"),
    imagePullSecrets: by("name"),
    initContainers: by("name"),
    resourceClaims: retaining("name"),
    schedulingGates: by("name"),
    topologySpreadConstraints: by("topologyKey", "whenUnsatisfiable"),
    volumes: retaining("name"),
  },
  PodStatus: {
    conditions: by("type"),
    hostIPs: by("ip"),
    podIPs: by("ip"),
    resourceClaimStatuses: retaining("name"),
  },
  ResourceClaimStatus: {
    devices: { mapKeys: ["driver", "device", "pool"] },
    reservedFor: by("uid"),
  },
  ResourceRequirements: { claims: { mapKeys: ["name"] } },
  ServiceAccount: { secrets: by("name") },
  ServiceSpec: { ports: by("port", "protocol") },
  ServiceStatus: { conditions: by("type") },
};

/** Key fields that an element may leave out, with what they are then. */
export const KEY_DEFAULTS: Readonly<Record<string, unknown>> = { protocol: "TCP" };

/** The rule of a list; undefined for one that is replaced as a whole. */
export function listRule(type: string, field: string): ListRule | undefined {
  const rules = RULES[type];
  return rules && Object.hasOwn(rules, field) ? rules[field] : undefined;
}

/** Types whose fields have one owner together (`structType=atomic`). */
const ATOMIC_TYPES: ReadonlySet<string> = new Set([
  "ConfigMapKeySelector",
  "FileKeySelector",
  "LabelSelector",
  "LocalObjectReference",
  "NodeSelector",
  "NodeSelectorTerm",
  "ObjectFieldSelector",
  "ObjectReference",
  "ResourceFieldSelector",
  "SecretKeySelector",
  "SecretReference",
  "TypedLocalObjectReference",
]);

/** Whether an object of the type is owned as a whole. */
export const isAtomicType = (type: string): boolean => ATOMIC_TYPES.has(type);
