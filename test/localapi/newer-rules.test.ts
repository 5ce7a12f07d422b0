// Rules that the oldest real server at hand does not have: its test runs without the plugin for service
// accounts, and its ephemeral containers are an alpha of another shape.
import assert from "node:assert/strict";
import { Examination, type Json, PODS, ROOT, STRATEGIC } from "../contracts/api-examination.ts";
import { LOCAL_API } from "./local-api.ts";

const on = new Examination(LOCAL_API);

on.examine("pods pull with the secrets of their account, unless they name their own", async () => {
  const name = on.fresh("puller");
  const imagePullSecrets = [{ name: "of-account" }];
  await on.must("POST", `${ROOT}/serviceaccounts`, { metadata: { name }, imagePullSecrets });
  const plain = await on.makePod({ serviceAccountName: name });
  assert.deepEqual(plain.spec.imagePullSecrets, imagePullSecrets);
  const own = [{ name: "own" }];
  const other = await on.makePod({ serviceAccountName: name, imagePullSecrets: own });
  assert.deepEqual(other.spec.imagePullSecrets, own);
});

on.examine("an evicted pod says so while it ends", async () => {
  const { metadata } = await on.makePod({ nodeName: "n1", terminationGracePeriodSeconds: 30 });
  const path = `${PODS}/${metadata.name}`;
  const named = { name: metadata.name, namespace: metadata.namespace };
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: named };
  await on.must("POST", `${path}/eviction`, { ...eviction, deleteOptions: { dryRun: ["All"] } });
  const untouched = await on.must("GET", path);
  assert.equal(untouched.metadata.deletionTimestamp ?? untouched.status.conditions, undefined);
  await on.must("POST", `${path}/eviction`, eviction);
  const pod = await on.must("GET", path);
  assert.ok(pod.metadata.deletionTimestamp);
  const [condition] = pod.status.conditions;
  const { type, status, reason, message } = condition;
  assert.deepEqual(
    [type, status, reason, message],
    ["DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting"],
  );
});

on.examine("ephemeral containers are added to pods, not to mirrors of static ones", async () => {
  const ephemeralContainers = [{ name: "looker", image: "x", targetContainerName: "main" }];
  const add = ({ metadata }: Json, containers: object[] = ephemeralContainers) =>
    on.send({
      method: "PATCH",
      path: `${PODS}/${metadata.name}/ephemeralcontainers`,
      contentType: STRATEGIC,
      body: { spec: { ephemeralContainers: containers } },
    });
  const pod = await on.makePod({ nodeName: "n1" });
  assert.equal((await add(pod)).status, 200);
  const astray = await add(pod, [{ name: "other", image: "x", targetContainerName: "none" }]);
  assert.match(astray.body.message, /\.targetContainerName: Not found: "none"/);
  const annotations = { "kubernetes.io/config.mirror": "hash" };
  const refused = await add(await on.makePod({ nodeName: "n1" }, { annotations }));
  assert.equal(refused.status, 422);
  assert.match(
    refused.body.message,
    /\[\]: Forbidden: static pods do not support ephemeral containers$/,
  );
});

on.examine("a pod that is rarely what was meant is taken with a warning", async () => {
  const name = on.fresh("warned");
  const resources = { limits: { memory: "128m" } };
  const spec = { containers: [{ name: "main", image: "i:1", resources }] };
  const object = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
  const expected =
    '299 - "spec.containers[0].resources.limits[memory]: fractional byte value \\"128m\\" is invalid, must be an integer", ' +
    '299 - "spec.containers[0].resources.requests[memory]: fractional byte value \\"128m\\" is invalid, must be an integer"';
  const made = await on.send({ method: "POST", path: PODS, body: object });
  assert.equal(made.status, 201);
  assert.equal(made.headers?.["warning"], expected);
  const patch = { metadata: { labels: { a: "b" } } };
  const contentType = STRATEGIC;
  const path = `${PODS}/${name}`;
  const changed = await on.send({ method: "PATCH", path, body: patch, contentType });
  assert.equal(changed.headers?.["warning"], expected);
  const read = await on.send({ method: "GET", path });
  assert.equal(read.headers?.["warning"], undefined);
});
