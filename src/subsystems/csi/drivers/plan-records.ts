// pure
import type { CSINode, CSINodeDriver, Node } from "../../../api/generated/types.ts";
import { isTree } from "../../../kit/json.ts";

/** What a driver says of this node. */
export interface DriverOnNode {
  readonly name: string;
  readonly nodeId: string;
  /** Volumes that it can have here; `undefined`: it says no number. */
  readonly maxVolumes: number | undefined;
  /** Where the node is, as labels. */
  readonly topology: Readonly<Record<string, string>>;
}

/** Identifiers of the node by driver, in JSON. */
const NODE_ID_ANNOTATION = "csi.volume.kubernetes.io/nodeid";
const MIGRATED_ANNOTATION = "storage.alpha.kubernetes.io/migrated-plugins";
/** In-tree kinds whose volumes are CSI drivers' since Kubernetes 1.31 (csimigration plugin manager). */
const MIGRATED_PLUGINS = [
  "aws-ebs",
  "azure-disk",
  "azure-file",
  "cinder",
  "gce-pd",
  "portworx-volume",
  "vsphere-volume",
]
  .map((name) => `kubernetes.io/${name}`)
  .join(",");
const MAX_COUNT = 2 ** 31 - 1;

/** The object as it is made for a node. */
export function newCsiNode(node: Node): CSINode {
  const { name = "", uid = "" } = node.metadata ?? {};
  return {
    metadata: {
      name,
      annotations: { [MIGRATED_ANNOTATION]: MIGRATED_PLUGINS },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
    },
    spec: { drivers: [] },
  };
}

/** Whether the object belongs to the node as it is now, and not to one of the same name before it. */
function isOwnedBy({ metadata }: CSINode, node: Node): boolean {
  const { name, uid } = node.metadata ?? {};
  return (metadata?.ownerReferences ?? []).some(
    (owner) => owner.kind === "Node" && owner.name === name && owner.uid === uid,
  );
}

/**
 * The object with the driver, or without (`install` undefined); the same object when nothing changes. A driver that is
 * new or other than before comes last (nodeinfomanager.go).
 */
export function withDriver(
  found: CSINode,
  node: Node,
  change: { readonly name: string; readonly install: DriverOnNode | undefined },
): CSINode {
  const present = driversOf(found);
  const before = present.find(({ name }) => name === change.name);
  const entry = change.install && entryOf(change.install);
  const owner = newCsiNode(node).metadata;
  const isSameDriver = JSON.stringify(sorted(before)) === JSON.stringify(sorted(entry));
  const migrated = found.metadata?.annotations?.[MIGRATED_ANNOTATION] === MIGRATED_PLUGINS;
  const isOwned = isOwnedBy(found, node);
  if (isSameDriver && migrated && isOwned) return found;
  const others = present.filter(({ name }) => name !== change.name);
  const drivers = isSameDriver ? present : [...others, ...(entry ? [entry] : [])];
  return {
    ...found,
    metadata: {
      ...found.metadata,
      annotations: { ...found.metadata?.annotations, ...owner?.annotations },
      ownerReferences: isOwned
        ? (found.metadata?.ownerReferences ?? [])
        : (owner?.ownerReferences ?? []),
    },
    spec: { ...found.spec, drivers },
  };
}

/** API servers answer `null` for an empty list. */
const driversOf = ({ spec }: CSINode): readonly CSINodeDriver[] =>
  (spec.drivers as CSINode["spec"]["drivers"] | null) ?? [];

function entryOf({ name, nodeId, maxVolumes, topology }: DriverOnNode): CSINodeDriver {
  const count = maxVolumes === undefined ? undefined : Math.min(maxVolumes, MAX_COUNT);
  return {
    name,
    nodeID: nodeId,
    topologyKeys: Object.keys(topology).toSorted(),
    ...(count === undefined ? {} : { allocatable: { count } }),
  };
}

/** With its fields in one order, and what is absent and what is empty the same. */
function sorted(driver: CSINodeDriver | undefined): unknown {
  if (!driver) return undefined;
  const { name, nodeID, topologyKeys, allocatable } = driver;
  return [name, nodeID, topologyKeys ?? [], allocatable?.count ?? null];
}

/**
 * What to change in the node's metadata for a driver: its identifier, and labels of where the node is. `undefined` when
 * nothing is to be changed. Labels are never taken back.
 */
export function metadataPatch(
  node: Node,
  change: { readonly name: string; readonly install: DriverOnNode | undefined },
): { readonly patch: { readonly metadata: object } | undefined } | { readonly problem: string } {
  const { annotations = {}, labels = {} } = node.metadata ?? {};
  const ids = nodeIds(annotations[NODE_ID_ANNOTATION]);
  if (!ids)
    return {
      problem: `annotation ${NODE_ID_ANNOTATION} of the node is not a JSON object of texts: correct or remove it`,
    };
  const { name, install } = change;
  for (const [key, value] of Object.entries(install?.topology ?? {})) {
    const present = labels[key];
    if (present !== undefined && present !== value)
      return {
        problem: `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${present}"`,
      };
  }
  const added = Object.entries(install?.topology ?? {}).filter(
    ([key]) => labels[key] === undefined,
  );
  const isSameId = ids.get(name) === install?.nodeId;
  if (isSameId && added.length === 0) return { patch: undefined };
  if (install) ids.set(name, install.nodeId);
  else ids.delete(name);
  const text = ids.size === 0 ? null : JSON.stringify(Object.fromEntries(ids));
  const metadata = {
    ...(isSameId ? {} : { annotations: { [NODE_ID_ANNOTATION]: text } }),
    ...(added.length > 0 ? { labels: Object.fromEntries(added) } : {}),
  };
  return { patch: { metadata } };
}

function nodeIds(text = "{}"): Map<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isTree(value)) return undefined;
    const entries = Object.entries(value);
    return entries.every((entry): entry is [string, string] => typeof entry[1] === "string")
      ? new Map(entries)
      : undefined;
  } catch {
    return undefined;
  }
}
