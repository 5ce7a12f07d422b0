import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../../../api/generated/types.ts";
import {
  type CredentialProvider,
  readProviderAnswer,
  readProviderConfig,
} from "./provider-config.ts";

const PROVIDER = {
  name: "ecr",
  matchImages: ["*.registry.example"],
  defaultCacheDuration: "12h",
  apiVersion: "credentialprovider.kubelet.k8s.io/v1",
  args: ["get"],
  env: [{ name: "PROFILE", value: "x" }],
};
const config = (...providers: readonly JsonValue[]): JsonValue => ({
  kind: "CredentialProviderConfig",
  apiVersion: "kubelet.config.k8s.io/v1",
  providers,
});

test("`readProviderConfig` reads providers", () => {
  assert.deepEqual(readProviderConfig(config(PROVIDER)), {
    kind: "providers",
    providers: [
      {
        name: "ecr",
        matchImages: ["*.registry.example"],
        apiVersion: "credentialprovider.kubelet.k8s.io/v1",
        defaultCacheMs: 12 * 3_600_000,
        args: ["get"],
        env: { PROFILE: "x" },
      },
    ],
  });
});

const TOKEN = {
  serviceAccountTokenAudience: "registry.example",
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ["example.test/role"],
  optionalServiceAccountAnnotationKeys: ["example.test/more"],
};
const withToken = (more: { readonly [key: string]: JsonValue }): JsonValue =>
  config({ ...PROVIDER, tokenAttributes: { ...TOKEN, ...more } });

test("`readProviderConfig` reads the token attributes of a program", () => {
  const read = readProviderConfig(withToken({}));
  assert.deepEqual(read.kind === "providers" && read.providers[0]?.token, {
    audience: "registry.example",
    cacheType: "ServiceAccount",
    requireAccount: true,
    requiredAnnotations: ["example.test/role"],
    optionalAnnotations: ["example.test/more"],
  });
});

for (const [what, value, fault] of [
  [
    "tokens without an audience",
    withToken({ serviceAccountTokenAudience: "" }),
    /tokenAttributes\.serviceAccountTokenAudience: Required value/,
  ],
  ["tokens without a cache type", withToken({ cacheType: "" }), /cacheType: Required value/],
  ["an unknown cache type", withToken({ cacheType: "Pod" }), /Unsupported value: "Pod"/],
  [
    "tokens that may or may not be",
    withToken({ requireServiceAccount: null }),
    /requireServiceAccount: Required value/,
  ],
  [
    "annotations of no account",
    withToken({ requireServiceAccount: false }),
    /requireServiceAccount cannot be false/,
  ],
  [
    "an annotation that is required and not",
    withToken({ optionalServiceAccountAnnotationKeys: ["example.test/role"] }),
    /\[example\.test\/role\] cannot be both required and optional/,
  ],
  [
    "a key that no annotation can have",
    withToken({ optionalServiceAccountAnnotationKeys: ["a b"] }),
    /optionalServiceAccountAnnotationKeys\[0\]: Invalid value: "a b"/,
  ],
  [
    "tokens in an older protocol",
    config({
      ...PROVIDER,
      apiVersion: "credentialprovider.kubelet.k8s.io/v1beta1",
      tokenAttributes: TOKEN,
    }),
    /tokenAttributes: Forbidden/,
  ],
  ["nothing", {}, /^kind: /],
  ["no providers", config(), /^providers: Required value/],
  ["a path as name", config({ ...PROVIDER, name: "../x" }), /providers\[0\]\.name: Invalid value/],
  ["no images", config({ ...PROVIDER, matchImages: [] }), /matchImages: Required value/],
  ["no cache time", config({ ...PROVIDER, defaultCacheDuration: "" }), /defaultCacheDuration/],
  ["an unknown protocol", config({ ...PROVIDER, apiVersion: "v7" }), /Unsupported value: "v7"/],
  ["the same name twice", config(PROVIDER, PROVIDER), /providers\[1\]\.name: Duplicate value/],
] as const)
  test(`\`readProviderConfig\` refuses ${what}`, () => {
    const read = readProviderConfig(value);
    assert.equal(read.kind, "faults");
    assert.match(read.kind === "faults" ? read.faults.join("; ") : "", fault);
  });

const [provider] = readAll() as readonly [CredentialProvider];

function readAll(): readonly CredentialProvider[] {
  const read = readProviderConfig(config(PROVIDER));
  return read.kind === "providers" ? read.providers : [];
}

const answer = (more: Record<string, JsonValue>) =>
  JSON.stringify({
    kind: "CredentialProviderResponse",
    apiVersion: PROVIDER.apiVersion,
    cacheKeyType: "Registry",
    auth: { "*.registry.example": { username: "u", password: "secret" } },
    ...more,
  });

test("`readProviderAnswer` reads credentials and how long they last", () => {
  assert.deepEqual(readProviderAnswer(provider, answer({ cacheDuration: "0s" })), {
    cacheKeyType: "Registry",
    cacheMs: 0,
    auth: { "*.registry.example": { username: "u", password: "secret" } },
  });
  assert.equal(readProviderAnswer(provider, answer({})).cacheMs, undefined);
});

for (const [what, output] of [
  ["no JSON", "secret"],
  ["another version", answer({ apiVersion: "credentialprovider.kubelet.k8s.io/v1beta1" })],
  ["another kind", answer({ kind: "Pod" })],
  ["an unknown cache key", answer({ cacheKeyType: "Moon" })],
  ["a broken duration", answer({ cacheDuration: "secret" })],
] as const)
  test(`\`readProviderAnswer\` refuses ${what} and quotes no secret`, () => {
    assert.throws(
      () => readProviderAnswer(provider, output),
      (error: Error) => error instanceof SyntaxError && !error.message.includes("secret"),
    );
  });
