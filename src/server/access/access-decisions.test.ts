import assert from "node:assert/strict";
import { test } from "node:test";
import { base64ToBytes } from "../../kit/base64.ts";
import type { WallMs } from "../../kit/clock.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { generateKeyPair, signCertificate } from "../../outside/x509/x509.ts";
import type { Identity } from "../identity.ts";
import {
  type Authentication,
  type Authenticator,
  certificateAuthenticator,
  unionOf,
} from "./authenticate.ts";
import { type Attributes, alwaysAllow, decideAccess, mastersThen } from "./authorize.ts";

const NOTHING = { client: { kind: "none" }, bearerToken: undefined } as const;
const JANE: Identity = { name: "jane", groups: ["dev"] };

/** Answers always the same. */
const saying = (found: Authentication): Authenticator => ({ authenticate: async () => found });
const nothing = saying({ kind: "nothing" });
const refusing = saying({ kind: "refused", why: "first" });
const knowing = saying({ kind: "identity", identity: JANE });

const UNIONS: readonly (readonly [string, readonly Authenticator[], boolean, Authentication])[] = [
  [
    "who is known is one of the authenticated",
    [nothing, knowing],
    false,
    { kind: "identity", identity: { name: "jane", groups: ["dev", "system:authenticated"] } },
  ],
  [
    "the group is there once",
    [
      saying({
        kind: "identity",
        identity: { name: "jane", groups: ["system:authenticated"] },
      }),
    ],
    true,
    { kind: "identity", identity: { name: "jane", groups: ["system:authenticated"] } },
  ],
  [
    "one that knows the caller counts more than one that refuses",
    [refusing, knowing],
    false,
    { kind: "identity", identity: { name: "jane", groups: ["dev", "system:authenticated"] } },
  ],
  ["nobody is nobody", [nothing], false, { kind: "nothing" }],
  [
    "nobody is anonymous where that is allowed",
    [nothing],
    true,
    {
      kind: "identity",
      identity: { name: "system:anonymous", groups: ["system:unauthenticated"] },
    },
  ],
  [
    "who is refused is not anonymous",
    [refusing, saying({ kind: "refused", why: "second" }), nothing],
    true,
    { kind: "refused", why: "first" },
  ],
];

for (const [what, authenticators, anonymous, expected] of UNIONS)
  test(`unionOf: ${what}`, async () => {
    const found = await unionOf(authenticators, anonymous).authenticate(NOTHING, NEVER_ABORTED);
    assert.deepEqual(found, expected);
  });

async function derOf(commonName: string): Promise<Uint8Array> {
  const key = await generateKeyPair();
  const pem = signCertificate(
    {
      subject: { commonName, organizations: ["dev"] },
      publicKey: key.publicKey,
      notBefore: 0 as WallMs,
      notAfter: 1e12 as WallMs,
      use: ["clientAuth"],
    },
    key,
  );
  return base64ToBytes(pem.replaceAll(/-----[^-]+-----|\s/g, ""));
}

test("certificateAuthenticator: the subject is user and groups; what cannot be read proves nothing", async () => {
  const ask = (client: Parameters<Authenticator["authenticate"]>[0]["client"]) =>
    certificateAuthenticator.authenticate({ client, bearerToken: undefined }, NEVER_ABORTED);
  assert.deepEqual(await ask({ kind: "verified", der: await derOf("jane") }), {
    kind: "identity",
    identity: JANE,
  });
  assert.deepEqual(await ask({ kind: "verified", der: await derOf("") }), { kind: "nothing" });
  assert.deepEqual(await ask({ kind: "verified", der: Uint8Array.of(1) }), { kind: "nothing" });
  assert.deepEqual(await ask({ kind: "none" }), { kind: "nothing" });
  assert.deepEqual(await ask({ kind: "unverified", why: "expired" }), {
    kind: "refused",
    why: "expired",
  });
});

const ASKED = {
  identity: JANE,
  access: { subresources: ["pods", "proxy"] },
  method: "GET",
  path: "/pods",
  nodeName: "n1",
} as const;

test("decideAccess asks for each subresource of the node until one is allowed", async () => {
  const asked: Attributes[] = [];
  const answer = await decideAccess(
    ASKED,
    {
      authorize: async (attributes) => {
        asked.push(attributes);
        return attributes.subresource === "proxy" ? "allow" : "deny";
      },
    },
    NEVER_ABORTED,
  );
  assert.deepEqual(answer, { kind: "allowed" });
  const common = { identity: JANE, verb: "get", resource: "nodes", name: "n1", path: "/pods" };
  assert.deepEqual(asked, [
    { ...common, subresource: "pods" },
    { ...common, subresource: "proxy" },
  ]);
});

test("decideAccess: a route's own verb counts more than the method's", async () => {
  const verbs: string[] = [];
  const note = {
    authorize: async ({ verb }: Attributes) => {
      verbs.push(verb);
      return "deny" as const;
    },
  };
  await decideAccess(
    { ...ASKED, access: { subresources: ["proxy"], verb: "create" } },
    note,
    NEVER_ABORTED,
  );
  assert.deepEqual(verbs, ["create"]);
});

test("decideAccess: denied is 403, and what could not be decided is 500", async () => {
  const denied = await decideAccess(ASKED, { authorize: async () => "deny" }, NEVER_ABORTED);
  assert.deepEqual(denied, {
    kind: "refused",
    status: 403,
    text: "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
  });
  const broken = await decideAccess(
    ASKED,
    {
      authorize: async ({ subresource }) => {
        if (subresource === "pods") throw new Error("away");
        return "deny";
      },
    },
    NEVER_ABORTED,
  );
  assert.deepEqual(broken, {
    kind: "refused",
    status: 500,
    text: "Authorization error (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
  });
});

test("mastersThen: administrators may, others if the delegate says so, and nobody without one", async () => {
  const of = (groups: readonly string[]): Attributes => ({
    identity: { name: "jane", groups },
    verb: "get",
    resource: "nodes",
    name: "n1",
    subresource: "pods",
    path: "/pods",
  });
  const deny = { authorize: async () => "deny" as const };
  assert.equal(await mastersThen(deny).authorize(of(["system:masters"]), NEVER_ABORTED), "allow");
  assert.equal(await mastersThen(deny).authorize(of(["dev"]), NEVER_ABORTED), "deny");
  assert.equal(await mastersThen(alwaysAllow).authorize(of(["dev"]), NEVER_ABORTED), "allow");
  assert.equal(await mastersThen(undefined).authorize(of(["dev"]), NEVER_ABORTED), "deny");
});
