// pure
/** Everything the server offers beside the objects that are kept: subresources, and questions that are answered. */

import type { Kind } from "../kind.ts";
import { KINDS } from "./catalog.ts";
import { UNSUPPORTED, type UnsupportedKind } from "./unsupported-kinds.ts";

/** A part of an object, or something that can be done with it. */
export interface Subresource {
  readonly name: string;
  /** Of what is sent and answered. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

const CORE = { group: "", version: "v1" };

function part(name: string, kind: string, ...verbs: readonly string[]): Subresource {
  return { ...CORE, name, kind, verbs };
}

const OF_PODS: readonly Subresource[] = [
  part("attach", "PodAttachOptions", "create", "get"),
  part("binding", "Binding", "create"),
  part("ephemeralcontainers", "Pod", "get", "patch", "update"),
  { name: "eviction", group: "policy", version: "v1", kind: "Eviction", verbs: ["create"] },
  part("exec", "PodExecOptions", "create", "get"),
  part("log", "Pod", "get"),
  part("portforward", "PodPortForwardOptions", "create", "get"),
  part("resize", "Pod", "get", "patch", "update"),
];

const OTHERS: Readonly<Record<string, readonly Subresource[]>> = {
  pods: OF_PODS,
  namespaces: [part("finalize", "Namespace", "update")],
  nodes: [part("proxy", "NodeProxyOptions", "create", "delete", "get", "patch", "update")],
  serviceaccounts: [
    {
      name: "token",
      group: "authentication.k8s.io",
      version: "v1",
      kind: "TokenRequest",
      verbs: ["create"],
    },
  ],
  "certificates.k8s.io/certificatesigningrequests": [
    {
      name: "approval",
      group: "certificates.k8s.io",
      version: "v1",
      kind: "CertificateSigningRequest",
      verbs: ["get", "patch", "update"],
    },
  ],
};

/** The subresources of a resource, in the order of their names. */
export function subresourcesOf(kind: Kind): readonly Subresource[] {
  const { group, version, kind: name, hasStatus, collection } = kind;
  const status: readonly Subresource[] = hasStatus
    ? [{ name: "status", group, version, kind: name, verbs: ["get", "patch", "update"] }]
    : [];
  const others = kind.view ? [] : (OTHERS[collection] ?? []);
  return [...others, ...status].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A resource that is answered and not stored: a review, or metrics. */
export interface Review {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

function review(group: string, kind: string, plural: string): Review {
  return { group, version: "v1", kind, plural, namespaced: false, verbs: ["create"] };
}

function measurement(kind: string, plural: string, namespaced: boolean): Review {
  const verbs = ["get", "list"];
  return { group: "metrics.k8s.io", version: "v1beta1", kind, plural, namespaced, verbs };
}

/** Everything that is answered and not kept. */
export const REVIEWS: readonly Review[] = [
  review("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
  review("authentication.k8s.io", "TokenReview", "tokenreviews"),
  review("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
  review("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
  review("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"),
  {
    group: "",
    version: "v1",
    kind: "Binding",
    plural: "bindings",
    namespaced: true,
    verbs: ["create"],
  },
  measurement("NodeMetrics", "nodes", false),
  measurement("PodMetrics", "pods", true),
];

/** A version of a group, and what it has. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly kinds: readonly Kind[];
  readonly reviews: readonly Review[];
  /** Kinds that are only explained. */
  readonly unsupported: readonly UnsupportedKind[];
}

/** All groups, the core group first, each with its preferred version before others. */
export const GROUP_VERSIONS: readonly GroupVersion[] = [
  ...new Set([...KINDS, ...REVIEWS, ...UNSUPPORTED].map(({ group }) => group)),
].flatMap((group) => {
  const all = [...KINDS, ...REVIEWS, ...UNSUPPORTED].filter((each) => each.group === group);
  return [...new Set(all.map(({ version }) => version))].map((version) => {
    const isOf = (each: Pick<Kind, "group" | "version">) =>
      each.group === group && each.version === version;
    const [kinds, reviews] = [KINDS.filter(isOf), REVIEWS.filter(isOf)];
    return { group, version, kinds, reviews, unsupported: UNSUPPORTED.filter(isOf) };
  });
});
