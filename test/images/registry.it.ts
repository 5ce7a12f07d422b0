// Pulls by real containerd from a registry on loopback that answers, asks for credentials, stalls and fails.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { PullSecret } from "../../src/subsystems/images/images.ts";
import { ImageNode, REGISTRY } from "./node.ts";
import { podOf } from "./world.ts";

const SECRET: PullSecret = {
  uid: "uid-key",
  namespace: "default",
  name: "key",
  form: "config.json",
  content: JSON.stringify({ auths: { [REGISTRY]: { auth: btoa("user:secret") } } }),
};

let node: ImageNode;
before(async () => {
  node = await ImageNode.start({
    config: {
      imagePullCredentialsVerificationPolicy: "NeverVerifyPreloadedImages",
      serializeImagePulls: false,
      registryPullQPS: 0,
    },
    pullSecrets: async ({ spec }) => ({
      secrets: spec?.imagePullSecrets?.length ? [SECRET] : [],
      missing: [],
    }),
  });
  await node.startRegistry();
});
after(() => node[Symbol.asyncDispose]());

const imageOf = (manner: string) => `${REGISTRY}/${manner}/app:1`;
const withSecret = (image: string, uid: string): IdentifiedPod =>
  podOf(image, { imagePullSecrets: [{ name: "key" }] }, uid);

test("a pull from a registry says how long it took and how large the image is", async () => {
  const image = imageOf("ok");
  const answer = await node.ensure(image);
  assert.equal(answer.kind, "present");
  const [pulling, pulled] = node.events;
  assert.deepEqual(
    [pulling?.reason, pulling?.message],
    ["Pulling", `Pulling image ${JSON.stringify(image)}`],
  );
  assert.match(
    pulled?.message ?? "",
    /^Successfully pulled image "127\.0\.0\.1:5000\/ok\/app:1" in (\d+\.)?\d+m?s \((\d+\.)?\d+m?s including waiting\)\. Image size: [1-9]\d+ bytes\.$/,
  );
  const again = await node.ensure(image);
  assert.equal(again.kind, "present");
  assert.match(node.events.at(-1)?.message ?? "", /already present on machine and can be accessed/);
});

for (const [manner, expected] of [
  ["s404", /not found/],
  ["s429", /429 Too Many Requests/],
  ["s500", /500 Internal Server Error/],
  ["auth", /401 Unauthorized|authorization failed|no basic auth credentials/],
  ["reset", /reset by peer|EOF/],
] as const)
  test(`a registry that answers ${manner}: ErrImagePull, then ImagePullBackOff for 10 s`, async () => {
    const image = imageOf(manner);
    const failed = await node.ensure(image);
    assert.equal(failed.kind, "refused");
    if (failed.kind !== "refused") return;
    assert.equal(failed.reason, "ErrImagePull");
    assert.match(failed.message, expected);
    assert.equal(node.events.at(-1)?.reason, "Failed");
    assert.equal(
      node.events.at(-1)?.message,
      `Failed to pull image ${JSON.stringify(image)}: ${failed.message}`,
    );
    const waits = await node.ensure(image);
    assert.equal(waits.kind, "refused");
    if (waits.kind !== "refused") return;
    assert.equal(waits.reason, "ImagePullBackOff");
    assert.ok(waits.retryInMs > 5_000 && waits.retryInMs <= 10_000, String(waits.retryInMs));
    assert.equal(
      waits.message,
      `Back-off pulling image ${JSON.stringify(image)}: ErrImagePull: ${failed.message}`,
    );
    assert.deepEqual(node.events.at(-1)?.reason, "BackOff");
  });

test("credentials open what is guarded, for the pod that has them and for nobody else", async () => {
  const image = imageOf("auth/private");
  const owner = await node.ensure(image, "IfNotPresent", withSecret(image, "owner"));
  assert.equal(owner.kind, "present", JSON.stringify(owner));
  const otherPod = await node.ensure(image, "IfNotPresent", podOf(image, {}, "other-pod"));
  assert.equal(otherPod.kind, "refused");
  assert.equal(otherPod.kind === "refused" && otherPod.reason, "ErrImagePull");
  const never = await node.ensure(image, "Never", podOf(image, {}, "other-pod-2"));
  assert.equal(never.kind === "refused" && never.reason, "ErrImageNeverPull");
  const other = await node.ensure(image, "IfNotPresent", withSecret(image, "other"));
  assert.equal(other.kind, "present");
});

test("a registry that stalls keeps nobody else waiting, and its pull ends with its pod", async () => {
  const leaving = new AbortController();
  const image = imageOf("stall");
  const stalled = node.images.ensure(
    { pod: podOf(image, {}, "stalled"), container: "c", image, policy: "Always" },
    leaving.signal,
  );
  stalled.catch(() => {});
  const answers = await Promise.all(
    ["ok/one", "ok/two", "ok/three"].map((name) => node.ensure(imageOf(name))),
  );
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ["present", "present", "present"],
  );
  assert.ok(node.progress.some((text) => text.startsWith(`Pulling image "${image}" from `)));
  leaving.abort(new Error("the pod is gone"));
  await assert.rejects(stalled, /the pod is gone/);
});

test("labels of an image are what it was built with", async () => {
  const [image] = await node.cri.images.listImages(node.signal);
  assert.deepEqual(await node.cri.images.imageLabels(image?.id ?? "", node.signal), {});
});
