import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../../kit/errors.ts";
import type { ObjectSource } from "../../../outside/kube/kube.ts";
import { anchorsOf, type TrustBundle, trustBundles } from "./trust-bundles.ts";

const { signal } = new AbortController();
const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
const bundle = (name: string, signerName: string, labels: Record<string, string>): TrustBundle => ({
  metadata: { name, labels },
  spec: { signerName, trustBundle: pem(name) },
});
const ALL = [
  bundle("live", "s.test/a", { stage: "live" }),
  bundle("canary", "s.test/a", { stage: "canary" }),
  bundle("other", "s.test/b", { stage: "live" }),
];
const objects = {
  follow: () => () => {},
  get: async (_: unknown, { name }: { readonly name: string }) =>
    ALL.find(({ metadata }) => metadata?.name === name),
  list: async () => ALL,
} as unknown as ObjectSource;

const NOTHING = "combination of signerName and labelSelector matched zero ClusterTrustBundles";
const live = { matchLabels: { stage: "live" } };
const notLive = { matchExpressions: [{ key: "stage", operator: "NotIn", values: ["live"] }] };

for (const [what, projection, expected] of [
  ["a name", { name: "other" }, ["other"]],
  [
    "a name that is not",
    { name: "none" },
    'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found',
  ],
  ["a signer and labels", { signerName: "s.test/a", labelSelector: live }, ["live"]],
  ["a signer and expressions", { signerName: "s.test/a", labelSelector: notLive }, ["canary"]],
  ["a signer and any labels", { signerName: "s.test/a", labelSelector: {} }, ["live", "canary"]],
  ["a signer and no labels", { signerName: "s.test/a" }, NOTHING],
  ["a signer without bundles", { signerName: "s.test/c", labelSelector: {} }, NOTHING],
] as const)
  test(`trustBundles: ${what}`, async () => {
    const found = await trustBundles({ path: "p", ...projection }, { objects }, signal);
    const names = typeof found === "string" ? found : found.map(({ metadata }) => metadata?.name);
    assert.deepEqual(names, expected);
  });

/** API servers of several ages. */
for (const served of ["v1", "v1beta1", "v1alpha1"])
  for (const projection of [{ name: "live" }, { signerName: "s.test/a", labelSelector: live }])
    test(`trustBundles: ${Object.keys(projection)[0]} from a server that serves ${served}`, async () => {
      const asked: string[] = [];
      const old = {
        ...objects,
        get: async (
          { version }: { readonly version: string },
          place: { readonly name: string },
        ) => {
          asked.push(version);
          return version === served ? objects.get({} as never, place as never, signal) : undefined;
        },
        list: async ({ version }: { readonly version: string }) => {
          asked.push(version);
          if (version === served) return ALL;
          throw new OutsideError("notFound", "the server could not find the requested resource");
        },
      } as unknown as ObjectSource;
      const found = await trustBundles({ path: "p", ...projection }, { objects: old }, signal);
      assert.deepEqual(
        typeof found === "string" ? found : found.map(({ metadata }) => metadata?.name),
        ["live"],
      );
      assert.equal(asked.at(-1), served);
      assert.equal(asked[0], "v1");
    });

test("trustBundles: a server that serves none of the versions is named by its error", async () => {
  const list = async () => {
    throw new OutsideError("notFound", "the server could not find the requested resource");
  };
  const none = { ...objects, list } as unknown as ObjectSource;
  const projection = { path: "p", signerName: "s.test/a", labelSelector: live };
  await assert.rejects(trustBundles(projection, { objects: none }, signal), /could not find/);
});

test("anchorsOf: each certificate once, without what is around it", () => {
  const two = { spec: { trustBundle: `a comment\n${pem("BB\nBB")}${pem("AAAA")}` } };
  assert.equal(anchorsOf([two, { spec: { trustBundle: pem("BBBB") } }]), pem("AAAA") + pem("BBBB"));
  const long = "A".repeat(100);
  assert.equal(anchorsOf([{ spec: { trustBundle: pem(long) } }]).split("\n")[1]?.length, 64);
  assert.equal(anchorsOf([{ spec: { trustBundle: "nothing" } }, {}]), "");
});
