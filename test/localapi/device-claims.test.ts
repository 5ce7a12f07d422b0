// Resource claims in the local API: made from templates, allocated by the scheduler, free again after their pods.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { DynamicResourceClaim, Pod } from "../../src/api/generated/types.ts";
import { accessIn, type LocalApiUnderTest, startLocal } from "./local-api.ts";

const GROUP = "/apis/resource.k8s.io/v1";
const SLICES = `${GROUP}/resourceslices`;
const CLASSES = `${GROUP}/deviceclasses`;
const CLAIMS = `${GROUP}/namespaces/default/resourceclaims`;
const TEMPLATES = `${GROUP}/namespaces/default/resourceclaimtemplates`;
const PODS = "/api/v1/namespaces/default/pods";
const DRIVER = "gpu.example.com";
const WAIT_MS = 20_000;

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    assert.ok(performance.now() < deadline, what);
    await sleep(20);
  }
}

const slice = (nodeName = "n1", devices: readonly string[] = ["g0"]) => ({
  metadata: { name: `slice-${nodeName}` },
  spec: {
    driver: DRIVER,
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
    devices: devices.map((name) => ({ name })),
  },
});

const selector = (expression: string) => ({ cel: { expression } });
const OF_DRIVER = selector(`device.driver == "${DRIVER}"`);
const spec = (more: object = {}) => ({
  devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...more } }] },
});

const pod = (name: string, claim: object) => ({
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    resourceClaims: [{ name: "mine", ...claim }],
    containers: [{ name: "c", image: "i", resources: { claims: [{ name: "mine" }] } }],
  },
});

async function startWithNode(): Promise<LocalApiUnderTest> {
  const server = await startLocal();
  await server.must("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  await server.must("POST", CLASSES, {
    metadata: { name: "gpu" },
    spec: { selectors: [OF_DRIVER] },
  });
  return server;
}

const claimsOf = async (server: LocalApiUnderTest): Promise<readonly DynamicResourceClaim[]> =>
  (await server.must<{ items: readonly DynamicResourceClaim[] }>("GET", CLAIMS)).items;

const waitReason = async (server: LocalApiUnderTest, name: string) => {
  const { status } = await server.must<Pod>("GET", `${PODS}/${name}`);
  return status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
};

const untilBound = (server: LocalApiUnderTest, name: string) =>
  until(`${name} is bound`, async () => {
    const found = await server.must<Pod>("GET", `${PODS}/${name}`);
    return found.spec?.nodeName === "n1" ? found : undefined;
  });

test("a claim is made from a template, allocated and reserved before the pod is bound, and goes with it", async () => {
  await using server = await startWithNode();
  await server.must("POST", TEMPLATES, { metadata: { name: "one" }, spec: { spec: spec() } });
  await server.must("POST", PODS, pod("first", { resourceClaimTemplateName: "one" }));
  await until("it waits with the reason", async () =>
    (await waitReason(server, "first"))?.endsWith(
      "request gpu is for 1 device of class gpu: 0 devices fit, 0 of them free.",
    )
      ? true
      : undefined,
  );
  await server.must("POST", SLICES, slice());
  const first = await untilBound(server, "first");
  const [claim] = await claimsOf(server);
  assert.match(claim?.metadata?.name ?? "", /^first-mine-/);
  assert.deepEqual(first.status?.resourceClaimStatuses, [
    { name: "mine", resourceClaimName: claim?.metadata?.name },
  ]);
  assert.equal(claim?.metadata?.ownerReferences?.[0]?.uid, first.metadata?.uid);
  assert.deepEqual(claim?.status?.reservedFor, [
    { resource: "pods", name: "first", uid: first.metadata?.uid },
  ]);
  assert.deepEqual(claim?.status?.allocation?.devices?.results, [
    { request: "gpu", driver: DRIVER, pool: "n1", device: "g0" },
  ]);
  // The next one waits until the device is free, and then gets it.
  await server.must("POST", PODS, pod("second", { resourceClaimTemplateName: "one" }));
  await until("it waits", async () =>
    (await waitReason(server, "second"))?.includes("0 of them free") ? true : undefined,
  );
  await server.must("DELETE", `${PODS}/first`);
  const second = await untilBound(server, "second");
  const left = await until("the first claim is gone", async () => {
    const claims = await claimsOf(server);
    return claims.length === 1 ? claims : undefined;
  });
  assert.equal(left[0]?.status?.reservedFor?.[0]?.uid, second.metadata?.uid);
});

test("a claim that pods share stays as long as one of them, and may not be deleted from under it", async () => {
  await using server = await startWithNode();
  await server.must("POST", SLICES, slice());
  await server.must("POST", CLAIMS, { metadata: { name: "shared" }, spec: spec() });
  for (const name of ["a", "b"]) {
    await server.must("POST", PODS, pod(name, { resourceClaimName: "shared" }));
    await untilBound(server, name);
  }
  const users = async () =>
    (await claimsOf(server))[0]?.status?.reservedFor?.map(({ name }) => name).join(" ");
  assert.equal(await users(), "a b");
  await server.must("DELETE", `${CLAIMS}/shared`);
  await server.must("DELETE", `${PODS}/a`);
  await until("one of them has it", async () => ((await users()) === "b" ? true : undefined));
  const [held] = await claimsOf(server);
  assert.ok(held?.metadata?.deletionTimestamp && held.status?.allocation);
  await server.must("POST", PODS, pod("late", { resourceClaimName: "shared" }));
  await until("a pod that comes now waits", async () =>
    (await waitReason(server, "late"))?.includes('"shared" is being deleted') ? true : undefined,
  );
  await server.must("DELETE", `${PODS}/b`);
  await until("it is gone", async () => ((await claimsOf(server)).length === 0 ? true : undefined));
});

test("what cannot be allocated here is refused in words that name the field", async () => {
  await using server = await startWithNode();
  const refused = async (claim: object, problem: RegExp) => {
    const body = { metadata: { name: "x" }, spec: claim };
    const reply = await server.request({ method: "POST", path: CLAIMS, body });
    assert.equal(reply.status, 422, JSON.stringify(reply.body));
    assert.match((reply.body as { message: string }).message, problem);
  };
  await refused(
    spec({ selectors: [selector('device.attributes["a"].b ==')] }),
    /spec\.devices\.requests\[0\]\.exactly\.selectors\[0\]\.cel\.expression: Invalid value/,
  );
  await refused(spec({ selectors: [selector("1")] }), /must evaluate to bool, not to int/);
  await refused(spec({ adminAccess: true }), /adminAccess: Forbidden: .*leave it out/);
  await refused(
    spec({ capacity: { requests: { memory: "1Gi" } } }),
    /capacity: Forbidden: .*choose by device\.capacity in a selector/,
  );
  await refused(spec({ count: 0 }), /count: Invalid value: 0: must be greater than zero/);
  await refused(
    { devices: { requests: [{ name: "gpu" }] } },
    /exactly one of `exactly` or `firstAvailable` is required/,
  );
  await server.must("POST", CLAIMS, { metadata: { name: "kept" }, spec: spec() });
  const kept = await server.must<DynamicResourceClaim>("GET", `${CLAIMS}/kept`);
  assert.deepEqual(kept.spec.devices?.requests?.[0]?.exactly, {
    deviceClassName: "gpu",
    allocationMode: "ExactCount",
    count: 1,
  });
  const body = { ...kept, spec: spec({ count: 2 }) };
  const changed = await server.request({ method: "PUT", path: `${CLAIMS}/kept`, body });
  assert.match((changed.body as { message: string }).message, /spec: .*field is immutable/);
});

test("a node reads claims, and writes and deletes slices of its own", async () => {
  await using server = await startWithNode();
  const { identity } = accessIn(server.nodeKubeconfig);
  const asNode = async (method: string, path: string, body?: object) =>
    (await server.request({ method, path, ...(body ? { body } : {}) }, identity)).status;
  await server.must("POST", CLAIMS, { metadata: { name: "c" }, spec: spec() });
  assert.equal(await asNode("GET", `${CLAIMS}/c`), 200);
  assert.equal(await asNode("DELETE", `${CLAIMS}/c`), 403);
  assert.equal(await asNode("POST", SLICES, slice("n2")), 403);
  assert.equal(await asNode("POST", SLICES, slice("n1")), 201);
  await server.must("POST", SLICES, slice("n2"));
  const own = `${SLICES}?fieldSelector=spec.nodeName%3Dn1%2Cspec.driver%3D${DRIVER}`;
  assert.equal(await asNode("DELETE", own), 200);
  const { items } = await server.must<{ items: readonly Pod[] }>("GET", SLICES);
  assert.deepEqual(
    items.map(({ metadata }) => metadata?.name),
    ["slice-n2"],
  );
});
