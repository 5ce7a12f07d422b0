// What the local API takes of changes that need features of the node, in the words of Kubernetes 1.36.
import assert from "node:assert/strict";
import { declaredFeatures } from "../../src/config/gates/declared-features.ts";
import { resolveGates } from "../../src/config/gates/feature-gates.ts";
import { Examination, MERGE_PATCH, PODS, STRATEGIC } from "../contracts/api-examination.ts";
import { LOCAL_API } from "./local-api.ts";

const on = new Examination(LOCAL_API);

const cpu = (amount: string) => ({ resources: { requests: { cpu: amount } } });
const init = (amount: string, more: object = {}) => ({
  initContainers: [{ name: "init", image: "i:1", ...cpu(amount), ...more }],
});
const main = (amount: string) => ({ containers: [{ name: "main", image: "i:1", ...cpu(amount) }] });
const POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling";
const INIT = "InPlacePodVerticalScalingInitContainers";

const ROWS = [
  { what: "a pod as a whole", spec: cpu("1"), asked: cpu("2"), needs: POD_LEVEL },
  { what: "an init container", spec: init("1"), asked: init("2"), needs: INIT },
  {
    what: "a sidecar",
    spec: init("1", { restartPolicy: "Always" }),
    asked: init("2"),
    needs: undefined,
  },
  { what: "a container", spec: {}, asked: main("2"), needs: undefined },
];

async function makeNode(features: readonly string[]): Promise<string> {
  const name = on.fresh("node");
  const path = "/api/v1/nodes";
  await on.must("POST", path, { metadata: { name } });
  const status = { declaredFeatures: features };
  await on.must("PATCH", `${path}/${name}/status`, { status }, MERGE_PATCH);
  return name;
}

for (const { what, spec, asked, needs } of ROWS)
  on.examine(`a resize of ${what} on a node with and without the feature`, async () => {
    const able = { userNamespacesHostNetwork: false, mountOptions: false };
    const ours = await makeNode(declaredFeatures(resolveGates({}).gates, able) ?? []);
    const plain = await makeNode([]);
    const resize = async (nodeName: string) => {
      const pod = await on.makePod({ ...main("1"), ...spec, nodeName });
      const path = `${PODS}/${pod.metadata.name}`;
      const body = { spec: asked };
      const reply = await on.send({
        method: "PATCH",
        path: `${path}/resize`,
        contentType: STRATEGIC,
        body,
      });
      return { pod, path, reply };
    };
    const taken = await resize(ours);
    assert.equal(taken.reply.status, 200, JSON.stringify(taken.reply.body));
    assert.equal(taken.reply.body.metadata.generation, taken.pod.metadata.generation + 1);
    const { pod, path, reply } = await resize(plain);
    if (needs === undefined) {
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      return;
    }
    assert.equal(reply.status, 403, JSON.stringify(reply.body));
    const { name } = pod.metadata;
    assert.equal(
      reply.body.message,
      `pods "${name}" is forbidden: pod update requires features ${needs} which are not available on node "${plain}"`,
    );
    assert.deepEqual((await on.must("GET", path)).spec, pod.spec);
  });

on.examine("a resize that needs a feature of a node that is not there", async () => {
  const pod = await on.makePod({ ...main("1"), ...cpu("1"), nodeName: "nowhere" });
  const reply = await on.send({
    method: "PATCH",
    path: `${PODS}/${pod.metadata.name}/resize`,
    contentType: STRATEGIC,
    body: { spec: cpu("2") },
  });
  assert.equal(reply.status, 403, JSON.stringify(reply.body));
  assert.match(reply.body.message, /is forbidden: node "nowhere" not found$/);
  const labels = { metadata: { labels: { a: "b" } } };
  await on.must("PATCH", `${PODS}/${pod.metadata.name}`, labels, MERGE_PATCH);
});
