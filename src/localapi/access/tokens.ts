/** Tokens of service accounts: given out, and believed while what they are bound to is there. */

import type { TokenRequest } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { isTree } from "../../kit/json.ts";
import type { Random } from "../../kit/random.ts";
import type { Claims, TokenSigner } from "../../outside/tokens/tokens.ts";
import { type StoredObject, textOf, treeOf } from "../api-object.ts";
import { POD_KIND, SERVICE_ACCOUNT_KIND } from "../kinds/catalog.ts";
import { uuidOf } from "../objects/metadata.ts";
import type { User } from "../objects/object-request.ts";
import { conflict, invalidObject, objectNotFound } from "../status-error.ts";
import type { ObjectStore } from "../store/store.ts";

/** Issuer of the tokens, and their default audience. */
export const ISSUER = "https://kubernetes.default.svc";

const MIN_SECONDS = 600;
const DEFAULT_SECONDS = 3600;
const MAX_SECONDS = 2 ** 32;
/** Clocks differ a little. */
const LEEWAY_SECONDS = 5;
/** Objects that a token can be bound to. */
const BOUND_KINDS: Readonly<Record<string, string>> = {
  Pod: POD_KIND.collection,
  Secret: "secrets",
  Node: "nodes",
};

export interface TokenDeps {
  readonly signer: TokenSigner;
  readonly store: Pick<ObjectStore, "get">;
  readonly clock: Clock;
  readonly random: Random;
}

/** Answers a request for a token of an account. Throws `StatusError`. */
export function issueToken(
  { signer, store, clock, random }: TokenDeps,
  account: StoredObject,
  request: TokenRequest,
): TokenRequest {
  const {
    audiences = [],
    expirationSeconds = DEFAULT_SECONDS,
    boundObjectRef,
  } = request.spec ?? {};
  const { name, namespace = "", uid } = account.metadata;
  if (expirationSeconds < MIN_SECONDS || expirationSeconds > MAX_SECONDS)
    throw invalidObject({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      {
        path: "spec.expirationSeconds",
        kind: "invalid",
        value: expirationSeconds,
        message:
          expirationSeconds < MIN_SECONDS
            ? "may not specify a duration less than 10 minutes"
            : "may not specify a duration larger than 2^32 seconds",
      },
    ]);
  const bound = boundObjectRef && boundObject(store, namespace, boundObjectRef);
  const now = Math.floor(clock.wall() / 1000);
  const audience = audiences.length === 0 ? [ISSUER] : audiences;
  const exp = now + expirationSeconds;
  const token = signer.sign({
    aud: audience,
    exp,
    iat: now,
    iss: ISSUER,
    jti: uuidOf(random.hex(16)),
    "kubernetes.io": { namespace, serviceaccount: { name, uid }, ...bound },
    nbf: now,
    sub: `system:serviceaccount:${namespace}:${name}`,
  });
  return {
    ...request,
    metadata: { name, namespace },
    spec: { ...request.spec, audiences: audience, expirationSeconds },
    status: { token, expirationTimestamp: rfc3339((exp * 1000) as WallMs) },
  };
}

function boundObject(
  store: TokenDeps["store"],
  namespace: string,
  ref: NonNullable<NonNullable<TokenRequest["spec"]>["boundObjectRef"]>,
): Claims {
  const { kind = "", name = "", uid = "" } = ref;
  const collection = BOUND_KINDS[kind];
  const found = collection && store.get(collection, `${kind === "Node" ? "" : namespace}/${name}`);
  if (!found) throw objectNotFound({ group: "", plural: `${kind.toLowerCase()}s` }, name);
  const actual = found.metadata.uid;
  if (uid !== "" && uid !== actual)
    throw conflict(
      { group: "", plural: `${kind.toLowerCase()}s` },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  return { [kind.toLowerCase()]: { name, uid: actual } };
}

/** User and audiences of a valid token; undefined when it is invalid or for other audiences. */
export function readToken(
  { signer, store, clock }: TokenDeps,
  token: string,
  audiences: readonly string[] = [ISSUER],
): { readonly user: User; readonly audiences: readonly string[] } | undefined {
  const claims = signer.read(token);
  if (!claims || claims["iss"] !== ISSUER) return undefined;
  const now = clock.wall() / 1000;
  const { exp, nbf, aud } = claims;
  if (typeof exp !== "number" || exp + LEEWAY_SECONDS < now) return undefined;
  if (typeof nbf === "number" && nbf - LEEWAY_SECONDS > now) return undefined;
  const matching = audiences.filter((each) => Array.isArray(aud) && aud.includes(each));
  if (matching.length === 0) return undefined;
  const own = treeOf(claims["kubernetes.io"]);
  const namespace = textOf(own["namespace"]);
  const account = treeOf(own["serviceaccount"]);
  const name = textOf(account["name"]);
  const kept = store.get(SERVICE_ACCOUNT_KIND.collection, `${namespace}/${name}`);
  if (!kept || kept.metadata.uid !== account["uid"] || !areBoundThere(store, namespace, own))
    return undefined;
  return { user: accountUser(namespace, name, kept, own), audiences: matching };
}

/** A token ends with the object it is bound to. */
function areBoundThere(store: TokenDeps["store"], namespace: string, claims: Claims): boolean {
  return Object.entries(BOUND_KINDS).every(([kind, collection]) => {
    const bound = claims[kind.toLowerCase()];
    if (!isTree(bound)) return true;
    const key = `${kind === "Node" ? "" : namespace}/${textOf(bound["name"])}`;
    return store.get(collection, key)?.metadata.uid === bound["uid"];
  });
}

function accountUser(namespace: string, name: string, account: StoredObject, claims: Claims): User {
  const pod = treeOf(claims["pod"]);
  const extra = isTree(claims["pod"])
    ? {
        "authentication.kubernetes.io/pod-name": [textOf(pod["name"])],
        "authentication.kubernetes.io/pod-uid": [textOf(pod["uid"])],
      }
    : undefined;
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid: account.metadata.uid,
    groups: [
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
      "system:authenticated",
    ],
    ...(extra ? { extra } : {}),
  };
}
