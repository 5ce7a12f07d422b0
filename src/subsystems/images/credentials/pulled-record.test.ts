import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkAccess,
  decodeIntent,
  decodeRecord,
  encodeIntent,
  encodeRecord,
  needsVerification,
  type PullingSecret,
  withAccess,
} from "./pulled-record.ts";

const secret = (name: string, credentialHash = `hash-${name}`): PullingSecret => ({
  uid: `uid-${name}`,
  namespace: "default",
  name,
  credentialHash,
});

for (const [policy, pulledByNode, repository, needs] of [
  ["NeverVerify", true, "r.test/a", false],
  ["NeverVerifyPreloadedImages", true, "r.test/a", true],
  ["NeverVerifyPreloadedImages", false, "r.test/a", false],
  ["NeverVerifyAllowlistedImages", true, "r.test/a", false],
  ["NeverVerifyAllowlistedImages", false, "r.test/b", true],
  ["NeverVerifyAllowlistedImages", true, "r.test/team/x/y", false],
  ["NeverVerifyAllowlistedImages", true, "r.test/teams", true],
  ["AlwaysVerify", false, "r.test/a", true],
] as const)
  test(`\`needsVerification\`: ${policy}, ${repository}, pulled here: ${pulledByNode}: ${needs}`, () => {
    const allowlist = ["r.test/a", "r.test/team/*"];
    assert.equal(needsVerification(policy, allowlist, { repository, pulledByNode }), needs);
  });

test("`checkAccess` believes a secret by its coordinates or by its content", () => {
  const access = { kubernetesSecrets: [secret("a")] };
  assert.deepEqual(checkAccess(access, [secret("a")]), { allowed: true });
  assert.deepEqual(checkAccess(access, [secret("a", "rotated")]), {
    allowed: true,
    learn: secret("a", "rotated"),
  });
  assert.deepEqual(checkAccess(access, [secret("copy", "hash-a")]), {
    allowed: true,
    learn: secret("copy", "hash-a"),
  });
  assert.deepEqual(checkAccess(access, [secret("b")]), { allowed: false });
  assert.deepEqual(checkAccess(access, []), { allowed: false });
  assert.deepEqual(checkAccess(undefined, [secret("a")]), { allowed: false });
  assert.deepEqual(checkAccess({ nodePodsAccessible: true }, []), { allowed: true });
});

test("`checkAccess` believes a service account, and `withAccess` notes it once", () => {
  const account = { uid: "uid-a", namespace: "default", name: "a" };
  const record = { imageRef: "sha256:1", lastUpdatedMs: 0, access: {} };
  const noted = withAccess(record, "r.test/a", { kubernetesServiceAccounts: [account] }, 1);
  const again = withAccess(noted, "r.test/a", { kubernetesServiceAccounts: [account] }, 2);
  assert.equal(again, noted);
  const access = noted.access["r.test/a"];
  assert.deepEqual(access, { kubernetesServiceAccounts: [account] });
  assert.deepEqual(checkAccess(access, [], account), { allowed: true });
  assert.deepEqual(checkAccess(access, [], { ...account, uid: "uid-b" }), { allowed: false });
  assert.deepEqual(checkAccess(access, []), { allowed: false });
  const both = withAccess(noted, "r.test/a", { kubernetesSecrets: [secret("s")] }, 3);
  assert.deepEqual(both.access["r.test/a"], { ...access, kubernetesSecrets: [secret("s")] });
  assert.deepEqual(decodeRecord(encodeRecord(both))?.access, both.access);
});

test("`checkAccess` learns no more when a hundred secrets are known", () => {
  const many = Array.from({ length: 100 }, (_, at) => secret(`s${at}`));
  const access = { kubernetesSecrets: many };
  assert.deepEqual(checkAccess(access, [secret("copy", "hash-s7")]), { allowed: true });
  assert.deepEqual(checkAccess(access, [secret("s7", "rotated")]), { allowed: false });
});

test("`checkAccess` does not take two hashes that failed for the same", () => {
  const access = { kubernetesSecrets: [secret("a", "")] };
  assert.deepEqual(checkAccess(access, [secret("b", "")]), { allowed: false });
});

test("`withAccess` merges by coordinates, sorted, and node-wide access swallows the rest", () => {
  const blank = { imageRef: "sha256:1", lastUpdatedMs: 1, access: {} };
  const one = withAccess(blank, "r/a", { kubernetesSecrets: [secret("b")] }, 2);
  const two = withAccess(one, "r/a", { kubernetesSecrets: [secret("a"), secret("b", "new")] }, 3);
  assert.deepEqual(two.access["r/a"]?.kubernetesSecrets, [secret("a"), secret("b", "new")]);
  assert.equal(two.lastUpdatedMs, 3);
  assert.equal(withAccess(two, "r/a", { kubernetesSecrets: [secret("a")] }, 4), two);
  const all = withAccess(two, "r/a", { nodePodsAccessible: true }, 5);
  assert.deepEqual(all.access["r/a"], { nodePodsAccessible: true });
  assert.equal(withAccess(all, "r/a", { kubernetesSecrets: [secret("c")] }, 6), all);
  assert.deepEqual(two.access["r/b"], undefined);
});

test("records are read back as they were written, and those of the Go kubelet are understood", () => {
  const access = {
    "r/a": { kubernetesSecrets: [secret("a")] },
    "r/b": { nodePodsAccessible: true },
    "r/c": { kubernetesServiceAccounts: [{ uid: "u", namespace: "n", name: "s" }] },
  };
  const record = { imageRef: "sha256:1", lastUpdatedMs: 1_700_000_000_000, access };
  assert.deepEqual(decodeRecord(encodeRecord(record)), record);
  const theirs =
    '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1alpha1","lastUpdatedTime":"2024-10-21T12:26:40Z","imageRef":"test-brokenhash","credentialMapping":{"docker.io/testing/test":{"kubernetesSecrets":[{"uid":"testsecretuid","namespace":"default","name":"pull-secret","credentialHash":""}]}}}';
  assert.deepEqual(decodeRecord(theirs), {
    imageRef: "test-brokenhash",
    lastUpdatedMs: Date.UTC(2024, 9, 21, 12, 26, 40),
    access: {
      "docker.io/testing/test": {
        kubernetesSecrets: [
          { uid: "testsecretuid", namespace: "default", name: "pull-secret", credentialHash: "" },
        ],
      },
    },
  });
  assert.equal(decodeIntent(encodeIntent("r/a:1")), "r/a:1");
  for (const text of ["", "{", "null", '{"kind":"Pod"}', '{"kind":"ImagePulledRecord"}'])
    assert.deepEqual([decodeRecord(text), decodeIntent(text)], [undefined, undefined], text);
  const later = (text: string) => text.replace("/v1beta1", "/v99");
  assert.equal(decodeRecord(later(encodeRecord(record))), undefined);
  assert.equal(decodeIntent(later(encodeIntent("r/a:1"))), undefined);
});
