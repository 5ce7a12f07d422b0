// pure
/** Objects as they can be recreated in another API: without what the server of the first one added. */
import { isSame } from "../../api/decode/strategic-diff.ts";

type Tree = Readonly<Record<string, unknown>>;

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const treeOf = (value: unknown): Tree => (isTree(value) ? value : {});

/** Metadata that a server gives. */
const SERVERS_OWN: ReadonlySet<string> = new Set([
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "generation",
  "managedFields",
  "resourceVersion",
  "selfLink",
  "uid",
]);
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const NAMESPACE_LABEL = "kubernetes.io/metadata.name";
/** What the API made for a handler of the runtime bears it. */
const MANAGED_BY = "app.kubernetes.io/managed-by";
const MIRROR = "kubernetes.io/config.mirror";
const USUAL_NAMESPACES: ReadonlySet<unknown> = new Set([
  "default",
  "kube-node-lease",
  "kube-public",
  "kube-system",
]);

/** Whether an object is the user's, not one that every API makes for itself. */
export function isUsers(object: Tree): boolean {
  const { name, annotations, labels, deletionTimestamp } = treeOf(object["metadata"]);
  if (deletionTimestamp !== undefined) return false;
  switch (object["kind"]) {
    case "Namespace":
      return !USUAL_NAMESPACES.has(name);
    case "ConfigMap":
      return name !== "kube-root-ca.crt";
    case "ServiceAccount":
      return name !== "default";
    case "PriorityClass":
      return typeof name === "string" && !name.startsWith("system-");
    case "RuntimeClass":
      return treeOf(labels)[MANAGED_BY] !== "nodelet";
    case "Secret":
      return object["type"] !== "kubernetes.io/service-account-token";
    case "Pod":
      return treeOf(annotations)[MIRROR] === undefined;
    default:
      return true;
  }
}

/** The object without what belongs to the API it is from. */
export function portable(object: Tree): Tree {
  const { metadata, status: _, ...content } = object;
  const { apiVersion, kind, ...rest } = content;
  return {
    apiVersion,
    kind,
    metadata: portableMetadata(treeOf(metadata), kind),
    ...portableContent(rest, kind),
  };
}

function portableMetadata(metadata: Tree, kind: unknown): Tree {
  const annotations = without(treeOf(metadata["annotations"]), [LAST_APPLIED]);
  const labels = treeOf(metadata["labels"]);
  const ownLabels = kind === "Namespace" ? without(labels, [NAMESPACE_LABEL]) : labels;
  const kept = Object.entries(metadata).filter(
    ([name]) =>
      !SERVERS_OWN.has(name) && !["annotations", "labels", "ownerReferences"].includes(name),
  );
  return {
    ...Object.fromEntries(kept),
    ...filled("labels", ownLabels),
    ...filled("annotations", annotations),
  };
}

function portableContent(content: Tree, kind: unknown): Tree {
  const spec = treeOf(content["spec"]);
  switch (kind) {
    case "Pod":
      return { ...content, spec: portablePodSpec(spec) };
    case "Namespace":
      return filled("spec", without(spec, ["finalizers"]));
    case "PersistentVolume": {
      const claim = without(treeOf(spec["claimRef"]), ["uid", "resourceVersion"]);
      return { ...content, spec: { ...spec, ...filled("claimRef", claim) } };
    }
    default:
      return content;
  }
}

/** Tolerations that every API gives to every pod. */
const GIVEN_TOLERATIONS = ["not-ready", "unreachable"].map((taint) => ({
  key: `node.kubernetes.io/${taint}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
}));

/** The node and the numeric priority of a pod are set by the other API. */
function portablePodSpec(spec: Tree): Tree {
  const all = Array.isArray(spec["tolerations"]) ? (spec["tolerations"] as unknown[]) : [];
  const tolerations = all.filter((each) => !GIVEN_TOLERATIONS.some((given) => isSame(given, each)));
  const account = spec["serviceAccountName"] === "default" ? ["serviceAccountName"] : [];
  return {
    ...without(spec, [
      ...["nodeName", "priority", "preemptionPolicy", "serviceAccount", "tolerations"],
      ...["ephemeralContainers", ...account],
    ]),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}

function without(tree: Tree, names: readonly string[]): Tree {
  return Object.fromEntries(Object.entries(tree).filter(([name]) => !names.includes(name)));
}

function filled(name: string, tree: Tree): Tree {
  return Object.keys(tree).length === 0 ? {} : { [name]: tree };
}
