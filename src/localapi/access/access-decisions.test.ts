import assert from "node:assert/strict";
import { test } from "node:test";
import { base64ToBytes } from "../../kit/base64.ts";
import type { WallMs } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import type { ClientCertificate } from "../../outside/serving.ts";
import {
  type CertificateUsage,
  generateKeyPair,
  signCertificate,
} from "../../outside/x509/x509.ts";
import type { ApiObject } from "../api-object.ts";
import type { Kind } from "../kind.ts";
import {
  NODE_KIND,
  POD_CERTIFICATE_REQUEST_KIND,
  POD_KIND,
  RESOURCE_SLICE_KIND,
  SERVICE_ACCOUNT_KIND,
} from "../kinds/catalog.ts";
import type { ObjectRequest, User } from "../objects/object-request.ts";
import { StatusError } from "../status-error.ts";
import { authenticate } from "./authenticate.ts";
import { type Access, authorize } from "./authorize.ts";
import { actingUser } from "./impersonate.ts";
import { nodeRestriction } from "./restrict-node.ts";
import type { TokenDeps } from "./tokens.ts";

const NODE: User = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const SOMEBODY: User = { name: "somebody", groups: ["system:authenticated"] };
const NOBODY: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };
/** In the nodes' group, but named like none. */
const ODD: User = { name: "n1", groups: ["system:nodes"] };
/** Named like a node, but in no group. */
const NAMESAKE: User = { name: "system:node:n1", groups: [] };

/** `verb group/plural/subresource namespace/name`, or `verb /path`. */
function access(text: string): Access {
  const [verb = "", what = "", where = "/"] = text.split(" ");
  if (what.startsWith("/")) return { verb, path: what };
  const [group = "", plural = "", subresource = ""] = what.split("|");
  const [namespace = "", name = ""] = where.split("/");
  return { verb, resource: { group, plural, subresource, namespace, name } };
}

const RIGHTS: readonly (readonly [string, User, readonly string[], readonly string[]])[] = [
  [
    "an administrator",
    ADMIN,
    ["delete |secrets shop/key", "create any.example|things|deep", "get /metrics", "post /version"],
    [],
  ],
  [
    "a node",
    NODE,
    [
      "list |services",
      "watch |nodes /n2",
      "get |pods shop/web",
      "create |pods shop/web",
      "delete |pods shop/web",
      "patch |pods|status shop/web",
      "create |pods|eviction shop/web",
      "get |secrets shop/key",
      "list |configmaps",
      "update |persistentvolumeclaims|status shop/data",
      "get |serviceaccounts shop/default",
      "create |serviceaccounts|token shop/default",
      "patch |events shop/e",
      "create events.k8s.io|events shop/e",
      "list node.k8s.io|runtimeclasses",
      "create authentication.k8s.io|tokenreviews",
      "create authorization.k8s.io|subjectaccessreviews",
      "create certificates.k8s.io|certificatesigningrequests",
      "watch certificates.k8s.io|podcertificaterequests",
      "list certificates.k8s.io|clustertrustbundles",
      "get certificates.k8s.io|clustertrustbundles /b",
      "get resource.k8s.io|resourceclaims shop/gpu",
      "watch resource.k8s.io|deviceclasses",
      ...["create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"].map(
        (verb) => `${verb} resource.k8s.io|resourceslices`,
      ),
      "create |nodes /n1",
      "create |nodes",
      "update |nodes /n1",
      "patch |nodes|status /n1",
      "delete |nodes /n1",
      "get coordination.k8s.io|leases kube-node-lease/n1",
      "update coordination.k8s.io|leases kube-node-lease/n1",
      "get storage.k8s.io|csinodes /n1",
      "patch storage.k8s.io|csinodes /n1",
      "watch storage.k8s.io|csidrivers",
      "get storage.k8s.io|volumeattachments /csi-1",
      "get /version",
    ],
    [
      "update |pods shop/web",
      "patch |pods shop/web",
      "create |pods|exec shop/web",
      "create |secrets shop/key",
      "list |serviceaccounts",
      "update |nodes /n2",
      "patch |nodes|status /n2",
      "create |nodes|proxy /n1",
      "deletecollection |nodes /n1",
      "update apps|nodes /n1",
      "update |leases kube-node-lease/n1",
      "update coordination.k8s.io|leases kube-node-lease/n2",
      "update coordination.k8s.io|leases shop/n1",
      "list coordination.k8s.io|leases kube-node-lease/n1",
      "update coordination.k8s.io|other kube-node-lease/n1",
      "patch storage.k8s.io|csinodes /n2",
      "list storage.k8s.io|csinodes /n1",
      "update storage.k8s.io|csidrivers /d",
      "list storage.k8s.io|volumeattachments",
      "get other.example|csinodes /n1",
      "update certificates.k8s.io|certificatesigningrequests /c",
      "create certificates.k8s.io|clustertrustbundles",
      "delete certificates.k8s.io|clustertrustbundles /b",
      "update certificates.k8s.io|certificatesigningrequests|approval /c",
      "list resource.k8s.io|resourceclaims",
      "update resource.k8s.io|resourceclaims|status shop/gpu",
      "create resource.k8s.io|deviceclasses",
      "get other.example|resourceslices",
      "impersonate |users /admin",
      "get rbac.authorization.k8s.io|clusterroles",
      "get /metrics",
    ],
  ],
  [
    "whoever is known",
    SOMEBODY,
    [
      "create authorization.k8s.io|selfsubjectaccessreviews",
      "create authorization.k8s.io|selfsubjectrulesreviews",
      "create authentication.k8s.io|selfsubjectreviews",
      ...["/version", "/healthz", "/livez", "/readyz/ping", "/api/v1", "/apis", "/openapi/v3"].map(
        (path) => `get ${path}`,
      ),
    ],
    [
      "list |pods shop/",
      "get |secrets shop/key",
      "list |nodes",
      "create authorization.k8s.io|subjectaccessreviews",
      "create authentication.k8s.io|tokenreviews",
      "get authorization.k8s.io|selfsubjectaccessreviews",
      "create |selfsubjectaccessreviews",
      "create authorization.k8s.io|selfsubjectaccessreviews|more",
      "post /version",
      "get /versions",
      "get /logs/version",
      "get /",
    ],
  ],
  [
    "nobody",
    NOBODY,
    [],
    ["get /version", "create authorization.k8s.io|selfsubjectaccessreviews", "list |nodes"],
  ],
  ["one of the nodes' group without a node's name", ODD, [], ["list |nodes", "get |secrets a/b"]],
  ["one of a node's name without the group", NAMESAKE, [], ["list |nodes", "update |nodes /n1"]],
];

for (const [who, user, allowed, denied] of RIGHTS) {
  for (const text of allowed)
    test(`authorize: ${who} may ${text}`, () => {
      assert.deepEqual(authorize(user, access(text)), { kind: "allowed" });
    });
  for (const text of denied)
    test(`authorize: ${who} may not ${text}`, () => {
      const verdict = authorize(user, access(text));
      assert.equal(verdict.kind, "denied");
    });
}

const REFUSALS = {
  "get |secrets shop/key":
    'User "somebody" cannot get resource "secrets" in API group "" in the namespace "shop"',
  "create |nodes|proxy /n1":
    'User "somebody" cannot create resource "nodes/proxy" in API group "" at the cluster scope',
  "get /metrics": 'User "somebody" cannot get path "/metrics"',
};

for (const [text, why] of Object.entries(REFUSALS))
  test(`authorize says why not: ${text}`, () => {
    assert.deepEqual(authorize(SOMEBODY, access(text)), { kind: "denied", why });
  });

/** Message of the refusal. */
function refused(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return `${error.code} ${error.message}`;
  }
  return assert.fail("it was not refused");
}

const IMPERSONATED: readonly (readonly [string, Record<string, string>, User])[] = [
  ["nobody is named", { accept: "*/*" }, ADMIN],
  ["a user", { "impersonate-user": "jane" }, { name: "jane", groups: ["system:authenticated"] }],
  [
    "a user with groups",
    { "impersonate-user": "jane", "impersonate-group": "a, b" },
    { name: "jane", groups: ["a", "b", "system:authenticated"] },
  ],
  [
    "a user whose groups say what everybody is",
    { "impersonate-user": "jane", "impersonate-group": "system:authenticated" },
    { name: "jane", groups: ["system:authenticated"] },
  ],
  [
    "a user who is reported to be nobody",
    { "impersonate-user": "jane", "impersonate-group": "system:unauthenticated, a" },
    { name: "jane", groups: ["system:unauthenticated", "a"] },
  ],
  [
    "nobody",
    { "impersonate-user": "system:anonymous" },
    { name: "system:anonymous", groups: ["system:unauthenticated"] },
  ],
  [
    "an account",
    { "impersonate-user": "system:serviceaccount:shop:robot" },
    {
      name: "system:serviceaccount:shop:robot",
      groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
    },
  ],
  [
    "an account with groups of its own",
    { "impersonate-user": "system:serviceaccount:shop:robot", "impersonate-group": "a" },
    { name: "system:serviceaccount:shop:robot", groups: ["a", "system:authenticated"] },
  ],
  [
    "a user whose name only holds that of an account",
    { "impersonate-user": "my-system:serviceaccount:shop:robot" },
    { name: "my-system:serviceaccount:shop:robot", groups: ["system:authenticated"] },
  ],
  [
    "a user whose name goes on behind that of an account",
    { "impersonate-user": "system:serviceaccount:shop:robot:x" },
    { name: "system:serviceaccount:shop:robot:x", groups: ["system:authenticated"] },
  ],
  [
    "a UID and extra fields",
    {
      "impersonate-user": "jane",
      "impersonate-uid": "u-1",
      "impersonate-extra-scopes": "view, edit",
      "impersonate-extra-acme.com%2fteam": "ops",
      "impersonate-extra-50%": "odd",
    },
    {
      name: "jane",
      uid: "u-1",
      groups: ["system:authenticated"],
      extra: { scopes: ["view", "edit"], "acme.com/team": ["ops"], "50%": ["odd"] },
    },
  ],
];

for (const [what, headers, expected] of IMPERSONATED)
  test(`actingUser: ${what}`, () => {
    assert.deepEqual(actingUser(ADMIN, headers), expected);
  });

test("actingUser: headers without a user are a bad request", () => {
  for (const header of ["impersonate-group", "impersonate-uid", "impersonate-extra-scopes"])
    assert.match(
      refused(() => actingUser(ADMIN, { [header]: "a" })),
      /^400 Impersonate-User is missing/,
    );
});

for (const headers of [
  { "impersonate-user": "admin" },
  { "impersonate-user": "system:serviceaccount:shop:robot" },
])
  test(`actingUser: only administrators may act for ${headers["impersonate-user"]}`, () => {
    for (const caller of [SOMEBODY, NODE, NOBODY])
      assert.match(
        refused(() => actingUser(caller, headers)),
        /^403 .*cannot impersonate/,
      );
  });

const NOT_A_MIRROR = { "kubernetes.io/config.mirror": "hash" };
const pod = (nodeName: string | undefined, annotations?: Record<string, string>) => ({
  metadata: { name: "web", ...(annotations ? { annotations } : {}) },
  spec: nodeName === undefined ? {} : { nodeName },
});

const slice = (spec: object) => ({ metadata: {}, spec });
const RESTRICTIONS: readonly (readonly [string, Kind, object, boolean, User, boolean])[] = [
  ["its own object", NODE_KIND, { metadata: { name: "n1" } }, false, NODE, true],
  ["another node's object", NODE_KIND, { metadata: { name: "n2" } }, false, NODE, false],
  ["an object without a name", NODE_KIND, { metadata: {} }, true, NODE, false],
  ["an account", SERVICE_ACCOUNT_KIND, { metadata: { name: "a" } }, true, NODE, true],
  ["a pod of its own", POD_KIND, pod("n1"), false, NODE, true],
  ["another node's pod", POD_KIND, pod("n2"), false, NODE, false],
  ["a pod of no node", POD_KIND, pod(undefined), false, NODE, false],
  ["a new mirror pod", POD_KIND, pod("n1", NOT_A_MIRROR), true, NODE, true],
  ["a new mirror pod of another node", POD_KIND, pod("n2", NOT_A_MIRROR), true, NODE, false],
  ["a new pod that mirrors none", POD_KIND, pod("n1"), true, NODE, false],
  [
    "a request for a certificate of its own pod",
    POD_CERTIFICATE_REQUEST_KIND,
    { metadata: { name: "r" }, spec: { nodeName: "n1" } },
    true,
    NODE,
    true,
  ],
  [
    "a request for a certificate of another node's pod",
    POD_CERTIFICATE_REQUEST_KIND,
    { metadata: { name: "r" }, spec: { nodeName: "n2" } },
    true,
    NODE,
    false,
  ],
  [
    "what an administrator does to a node",
    NODE_KIND,
    { metadata: { name: "n2" } },
    false,
    ADMIN,
    true,
  ],
  [
    "what a node does that is an administrator too",
    POD_KIND,
    pod("n2"),
    false,
    { name: "system:node:n1", groups: ["system:nodes", "system:masters"] },
    true,
  ],
  ["what somebody does who is named like a node", POD_KIND, pod("n2"), false, NAMESAKE, true],
  ["what one of the group does who is no node", POD_KIND, pod("n2"), false, ODD, true],
  ["a slice of its own", RESOURCE_SLICE_KIND, slice({ nodeName: "n1" }), true, NODE, true],
  ["a slice of another", RESOURCE_SLICE_KIND, slice({ nodeName: "n2" }), true, NODE, false],
  ["a slice of all", RESOURCE_SLICE_KIND, slice({ allNodes: true }), false, NODE, false],
];

for (const [what, kind, object, isNew, user, allowed] of RESTRICTIONS)
  test(`nodeRestriction: ${what} is ${allowed ? "allowed" : "refused"}`, () => {
    const request = { kind, user, name: "", namespace: "" } as unknown as ObjectRequest;
    const found = nodeRestriction(request, object as unknown as ApiObject, isNew);
    assert.equal(found === undefined, allowed, found?.message ?? "allowed");
    if (found) assert.equal(found.code, 403);
  });

async function certificate(
  commonName: string,
  use: readonly CertificateUsage[],
): Promise<ClientCertificate> {
  const key = await generateKeyPair();
  const pem = signCertificate(
    {
      subject: { commonName, organizations: ["a", "b"] },
      publicKey: key.publicKey,
      notBefore: 0 as WallMs,
      notAfter: 1e12 as WallMs,
      use,
    },
    key,
  );
  return { kind: "verified", der: base64ToBytes(pem.replaceAll(/-----[^-]+-----|\s/g, "")) };
}

const NO_TOKENS: TokenDeps = {
  signer: { keyId: "", publicKey: {}, sign: () => "", read: () => undefined },
  store: { get: () => undefined },
  clock: { wall: () => 0 } as unknown as TokenDeps["clock"],
  random: {} as TokenDeps["random"],
};

test("authenticate: a certificate for clients says who, and no other certificate does", async () => {
  const user = (client: ClientCertificate, headers: Record<string, string> = {}) =>
    authenticate({ client, headers }, NO_TOKENS, silentLog);
  assert.deepEqual(user(await certificate("jane", ["clientAuth"])), {
    name: "jane",
    groups: ["a", "b", "system:authenticated"],
  });
  assert.equal(user(await certificate("jane", ["serverAuth"])), undefined);
  assert.equal(user(await certificate("", ["clientAuth"])), undefined);
  assert.equal(user({ kind: "verified", der: Uint8Array.of(1, 2, 3) }), undefined);
  assert.equal(user({ kind: "unverified", why: "it has expired" }), undefined);
  assert.equal(user({ kind: "none" }), undefined);
  assert.equal(user({ kind: "none" }, { authorization: "Bearer nonsense" }), undefined);
});
