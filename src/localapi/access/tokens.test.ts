import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { createTokenSigner } from "../../outside/tokens/tokens.ts";
import type { ApiObject } from "../api-object.ts";
import { issueToken, readToken, type TokenDeps } from "./tokens.ts";

const ACCOUNT: ApiObject = {
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
  return { clock, kept, user };
}

const ROBOT = "system:serviceaccount:shop:robot";

test("a token is believed until it expires, give or take five seconds", async () => {
  const { clock, user } = scene();
  assert.equal(user(), ROBOT);
  await clock.advance(604_000);
  assert.equal(user(), ROBOT);
  await clock.advance(2_000);
  assert.equal(user(), undefined);
});

test("a token is not believed before its time: somebody set the clock back", () => {
  const { clock, user } = scene();
  clock.stepWall(-4_000);
  assert.equal(user(), ROBOT);
  clock.stepWall(-4_000);
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
