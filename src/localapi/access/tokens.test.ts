import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { createTokenSigner } from "../../outside/tokens/tokens.ts";
import type { StoredObject } from "../api-object.ts";
import { issueToken, readToken, type TokenDeps } from "./tokens.ts";

const ACCOUNT: StoredObject = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "robot", namespace: "shop", uid: "u-1" },
};

function scene() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const clock = new SimClock({ wallMs: 1_800_000_000_000 });
  const kept = new Map([["serviceaccounts shop/robot", ACCOUNT]]);
  const deps: TokenDeps = {
    signer: createTokenSigner(pem),
    store: { get: (collection, key) => kept.get(`${collection} ${key}`) },
    clock,
    random: createSeededRandom(1),
  };
  const { token = "" } =
    issueToken(deps, ACCOUNT, { spec: { audiences: [], expirationSeconds: 600 } }).status ?? {};
  const user = (audiences?: readonly string[]) => readToken(deps, token, audiences)?.user.name;
  const claims = deps.signer.read(token) ?? {};
  /** User of a token that our key has signed with changed claims. */
  const userWith = (changed: object) =>
    readToken(deps, deps.signer.sign({ ...claims, ...changed }))?.user;
  return { clock, kept, user, deps, claims, userWith };
}

const ROBOT = "system:serviceaccount:shop:robot";

test("a token is believed until it expires, give or take five seconds", async () => {
  const { clock, user } = scene();
  assert.equal(user(), ROBOT);
  await clock.advance(605_000);
  assert.equal(user(), ROBOT);
  await clock.advance(1_000);
  assert.equal(user(), undefined);
});

test("a token is not believed before its time: somebody set the clock back", () => {
  const { clock, user } = scene();
  clock.stepWall(-5_000);
  assert.equal(user(), ROBOT);
  clock.stepWall(-1_000);
  assert.equal(user(), undefined);
});

test("a token is believed for its audience, as long as its account is the one it was made for", () => {
  const { kept, user } = scene();
  assert.equal(user(["other"]), undefined);
  kept.set("serviceaccounts shop/robot", {
    ...ACCOUNT,
    metadata: { ...ACCOUNT.metadata, uid: "u-2" },
  });
  assert.equal(user(), undefined);
  kept.clear();
  assert.equal(user(), undefined);
});

const ALL_GROUPS = [
  "system:serviceaccounts",
  "system:serviceaccounts:shop",
  "system:authenticated",
];

test("claims that only seem right are not believed, although the signature is ours", () => {
  const { userWith, claims } = scene();
  assert.deepEqual(userWith({}), { name: ROBOT, uid: "u-1", groups: ALL_GROUPS });
  assert.equal(userWith({ iss: "https://other.example" }), undefined);
  assert.equal(userWith({ iss: undefined }), undefined);
  assert.equal(userWith({ exp: undefined }), undefined);
  assert.equal(userWith({ exp: "9999999999" }), undefined);
  assert.equal(userWith({ aud: "https://kubernetes.default.svc" }), undefined);
  assert.equal(userWith({ aud: [] }), undefined);
  assert.equal(userWith({ nbf: undefined })?.name, ROBOT);
  const account = { name: "robot", uid: "u-2" };
  assert.equal(
    userWith({ "kubernetes.io": { namespace: "shop", serviceaccount: account } }),
    undefined,
  );
  assert.equal(userWith({ "kubernetes.io": undefined }), undefined);
  assert.equal(claims["exp"], 1_800_000_600);
});

const NO_NAMESPACE = { apiVersion: "v1", kind: "Node", metadata: { name: "n1", uid: "n-1" } };

for (const [kind, key, object] of [
  ["Pod", "pods shop/web", { ...ACCOUNT, kind: "Pod", metadata: { name: "web", uid: "p-1" } }],
  [
    "Secret",
    "secrets shop/web",
    { ...ACCOUNT, kind: "Secret", metadata: { name: "web", uid: "p-1" } },
  ],
  ["Node", "nodes /n1", NO_NAMESPACE],
] as const)
  test(`a token that is bound to a ${kind} ends with it`, () => {
    const { deps, kept } = scene();
    const { name, uid = "" } = object.metadata;
    const request = (boundUid: string) => ({
      spec: { audiences: [], boundObjectRef: { kind, name, uid: boundUid } },
    });
    assert.throws(() => issueToken(deps, ACCOUNT, request(uid)), /not found/);
    kept.set(key, object);
    assert.throws(() => issueToken(deps, ACCOUNT, request("other")), /does not match the UID/);
    const { token = "" } = issueToken(deps, ACCOUNT, request("")).status ?? {};
    assert.ok(issueToken(deps, ACCOUNT, request(uid)).status?.token);
    const user = () => readToken(deps, token)?.user;
    const extra = {
      "authentication.kubernetes.io/pod-name": [name],
      "authentication.kubernetes.io/pod-uid": [uid],
    };
    assert.deepEqual(user(), {
      name: ROBOT,
      uid: "u-1",
      groups: ALL_GROUPS,
      ...(kind === "Pod" ? { extra } : {}),
    });
    kept.set(key, { ...object, metadata: { ...object.metadata, uid: "another" } });
    assert.equal(user(), undefined);
    kept.delete(key);
    assert.equal(user(), undefined);
  });

test("issueToken: lifetimes, audiences and times", () => {
  const { deps } = scene();
  const issue = (spec: object) => issueToken(deps, ACCOUNT, { spec: { audiences: [], ...spec } });
  for (const expirationSeconds of [600, 2 ** 32])
    assert.equal(issue({ expirationSeconds }).spec?.expirationSeconds, expirationSeconds);
  assert.throws(() => issue({ expirationSeconds: 599 }), /less than 10 minutes/);
  assert.throws(() => issue({ expirationSeconds: 2 ** 32 + 1 }), /larger than 2\^32 seconds/);
  const { spec, status, metadata } = issue({});
  assert.deepEqual(
    [spec?.expirationSeconds, spec?.audiences],
    [3600, ["https://kubernetes.default.svc"]],
  );
  assert.equal(status?.expirationTimestamp, "2027-01-15T09:00:00Z");
  assert.deepEqual(metadata, { name: "robot", namespace: "shop" });
  const { iat, nbf, jti, sub } = deps.signer.read(status?.token ?? "") ?? {};
  assert.deepEqual([iat, nbf, sub], [1_800_000_000, 1_800_000_000, ROBOT]);
  assert.match(String(jti), /^[\da-f]{8}-[\da-f]{4}-/);
  const { token = "" } = issue({ audiences: ["a", "b"] }).status ?? {};
  assert.deepEqual(readToken(deps, token, ["b", "c", "a"])?.audiences, ["b", "a"]);
});
