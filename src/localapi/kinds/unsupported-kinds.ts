// pure
/**
 * Kinds of Kubernetes that people try and that this API does not have. They stand in discovery so that kubectl asks
 * for them, and the answer says what this API is and what to do instead; otherwise kubectl would say "ensure CRDs
 * are installed first".
 */

/** A kind that is only answered with an explanation. */
export interface UnsupportedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** Alternative for the user, as a sentence. */
  readonly instead: string;
}

const REPLICAS =
  "Apply its pod template as a Pod: restartPolicy Always keeps it running, and there are no replicas or rollouts. A cluster with them: nodelet down, then nodelet up --control-plane.";
const ONCE = "Apply its pod template as a Pod with restartPolicy OnFailure or Never.";
const TIMED = `${ONCE} Start it from cron or a systemd timer.`;
const SCALING = "There are no replicas to scale: apply as many Pods as you need.";
const BUDGET = "Deletions and evictions are not held back: there are no replicas to take over.";
const NETWORK = "Reach a pod by its IP, a hostPort or kubectl port-forward.";
const RIGHTS = "The kubeconfig gives full access to this API.";

const CRDS = "customresourcedefinitions";

type Row = readonly [kind: string, plural: string, shortNames: readonly string[], instead: string];

function kinds(
  group: string,
  version: string,
  rows: readonly Row[],
  namespaced = true,
): readonly UnsupportedKind[] {
  return rows.map(([kind, plural, shortNames, instead]) => ({
    group,
    version,
    kind,
    plural,
    shortNames,
    namespaced,
    instead,
  }));
}

/** All of them. */
export const UNSUPPORTED: readonly UnsupportedKind[] = [
  ...kinds("", "v1", [["ReplicationController", "replicationcontrollers", ["rc"], REPLICAS]]),
  ...kinds("apps", "v1", [
    ["DaemonSet", "daemonsets", ["ds"], REPLICAS],
    ["Deployment", "deployments", ["deploy"], REPLICAS],
    ["ReplicaSet", "replicasets", ["rs"], REPLICAS],
    ["StatefulSet", "statefulsets", ["sts"], REPLICAS],
  ]),
  ...kinds("batch", "v1", [
    ["CronJob", "cronjobs", ["cj"], TIMED],
    ["Job", "jobs", [], ONCE],
  ]),
  ...kinds("networking.k8s.io", "v1", [
    ["Ingress", "ingresses", ["ing"], NETWORK],
    ["NetworkPolicy", "networkpolicies", ["netpol"], "Every pod can reach every other."],
  ]),
  ...kinds("autoscaling", "v2", [
    ["HorizontalPodAutoscaler", "horizontalpodautoscalers", ["hpa"], SCALING],
  ]),
  ...kinds("policy", "v1", [["PodDisruptionBudget", "poddisruptionbudgets", ["pdb"], BUDGET]]),
  ...kinds("rbac.authorization.k8s.io", "v1", [
    ["Role", "roles", [], RIGHTS],
    ["RoleBinding", "rolebindings", [], RIGHTS],
  ]),
  ...kinds(
    "rbac.authorization.k8s.io",
    "v1",
    [
      ["ClusterRole", "clusterroles", [], RIGHTS],
      ["ClusterRoleBinding", "clusterrolebindings", [], RIGHTS],
    ],
    false,
  ),
  ...kinds(
    "apiextensions.k8s.io",
    "v1",
    [["CustomResourceDefinition", CRDS, ["crd"], "Extensions of the API need a cluster."]],
    false,
  ),
];

/** Whether lists of the kind are empty and no refusal: kubectl before 1.27 asks for extensions before it writes. */
export const hasEmptyList = ({ plural }: UnsupportedKind): boolean => plural === CRDS;

/** The kind at a path, when it is one of them. */
export function findUnsupported(
  group: string,
  version: string,
  plural: string,
): UnsupportedKind | undefined {
  return UNSUPPORTED.find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  );
}

/** Says that the API is that of a single node, and what to use in place of the kind. */
export function unsupportedText({ kind, instead }: UnsupportedKind): string {
  return `this is the API of a single node, which runs pods and has no ${kind}. ${instead} For controllers, make this machine a cluster of its own: nodelet down, then nodelet up --control-plane; or join one: nodelet up -- --kubeconfig=FILE`;
}
