// pure
/** Authorization: administrators may do everything, the node what nodes need, others only review themselves. */
import type { User } from "../objects/object-request.ts";

/** Attributes of a request to authorize. */
export interface Access {
  readonly verb: string;
  /** Of a resource; undefined for other paths. */
  readonly resource?: {
    readonly group: string;
    readonly plural: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
  };
  /** Of what is no resource. */
  readonly path?: string;
}

/** Whether it may be done, and why not. */
export type Verdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly why: string };

const ALLOWED: Verdict = { kind: "allowed" };
const MASTERS = "system:masters";
const NODES = "system:nodes";
const AUTHENTICATED = "system:authenticated";
const NODE_PREFIX = "system:node:";
const LEASE_NAMESPACE = "kube-node-lease";

const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete"];

interface Rule {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Rules for every node (role `system:node`, node authorizer). */
const OF_NODES: readonly Rule[] = [
  { group: "", resources: ["services", "nodes"], verbs: READ },
  { group: "", resources: ["pods"], verbs: [...READ, "create", "delete"] },
  { group: "", resources: ["pods/status"], verbs: ["get", "update", "patch"] },
  { group: "", resources: ["pods/eviction"], verbs: ["create"] },
  {
    group: "",
    resources: ["configmaps", "secrets", "persistentvolumes", "persistentvolumeclaims"],
    verbs: READ,
  },
  { group: "", resources: ["persistentvolumeclaims/status"], verbs: ["get", "update", "patch"] },
  { group: "", resources: ["serviceaccounts"], verbs: ["get"] },
  { group: "", resources: ["serviceaccounts/token"], verbs: ["create"] },
  { group: "", resources: ["events"], verbs: ["create", "patch", "update"] },
  { group: "events.k8s.io", resources: ["events"], verbs: ["create", "patch", "update"] },
  { group: "node.k8s.io", resources: ["runtimeclasses"], verbs: READ },
  { group: "authentication.k8s.io", resources: ["tokenreviews"], verbs: ["create"] },
  { group: "authorization.k8s.io", resources: ["subjectaccessreviews"], verbs: ["create"] },
  {
    group: "certificates.k8s.io",
    resources: ["certificatesigningrequests", "podcertificaterequests"],
    verbs: ["create", ...READ],
  },
  { group: "certificates.k8s.io", resources: ["clustertrustbundles"], verbs: READ },
  { group: "storage.k8s.io", resources: ["csidrivers"], verbs: READ },
  { group: "storage.k8s.io", resources: ["volumeattachments"], verbs: ["get"] },
  { group: "resource.k8s.io", resources: ["resourceclaims"], verbs: ["get"] },
  { group: "resource.k8s.io", resources: ["deviceclasses"], verbs: READ },
  {
    group: "resource.k8s.io",
    resources: ["resourceslices"],
    verbs: [...READ, ...WRITE, "deletecollection"],
  },
];

/** Rights of every authenticated user. */
const OF_EVERYBODY: readonly Rule[] = [
  {
    group: "authorization.k8s.io",
    resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    verbs: ["create"],
  },
  { group: "authentication.k8s.io", resources: ["selfsubjectreviews"], verbs: ["create"] },
];

const OPEN_PATHS = /^\/(version|healthz|livez|readyz|api|apis|openapi)(\/|$)/;

/** Authorizes a request. */
export function authorize(user: User, access: Access): Verdict {
  if (user.groups.includes(MASTERS)) return ALLOWED;
  if (mayNode(user, access) || mayAnybody(user, access)) return ALLOWED;
  return { kind: "denied", why: refusal(user, access) };
}

function mayAnybody(user: User, { verb, resource, path }: Access): boolean {
  if (!user.groups.includes(AUTHENTICATED)) return false;
  if (resource) return OF_EVERYBODY.some((rule) => covers(rule, verb, resource));
  return verb === "get" && OPEN_PATHS.test(path ?? "");
}

function mayNode(user: User, { verb, resource }: Access): boolean {
  if (!resource || !user.groups.includes(NODES) || !user.name.startsWith(NODE_PREFIX)) return false;
  if (OF_NODES.some((rule) => covers(rule, verb, resource))) return true;
  const { group, plural, subresource, namespace, name } = resource;
  const own = name === "" || name === user.name.slice(NODE_PREFIX.length);
  if (group === "" && plural === "nodes")
    return own && (subresource === "" || subresource === "status") && WRITE.includes(verb);
  if (group === "coordination.k8s.io" && plural === "leases")
    return own && namespace === LEASE_NAMESPACE && (verb === "get" || WRITE.includes(verb));
  return (
    group === "storage.k8s.io" &&
    plural === "csinodes" &&
    own &&
    (verb === "get" || WRITE.includes(verb))
  );
}

function covers(
  { group, resources, verbs }: Rule,
  verb: string,
  of: NonNullable<Access["resource"]>,
): boolean {
  const name = of.subresource === "" ? of.plural : `${of.plural}/${of.subresource}`;
  return group === of.group && resources.includes(name) && verbs.includes(verb);
}

/** In the words of the API server. */
function refusal(user: User, { verb, resource, path }: Access): string {
  const who = `User "${user.name}" cannot ${verb}`;
  if (!resource) return `${who} path "${path ?? ""}"`;
  const { group, plural, subresource, namespace } = resource;
  const what = subresource === "" ? plural : `${plural}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `${who} resource "${what}" in API group "${group}" ${where}`;
}
