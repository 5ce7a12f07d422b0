// What `pods/resize` of the local API takes and refuses, in the words of Kubernetes 1.36.
import assert from "node:assert/strict";
import { Examination, MERGE_PATCH, PODS, STRATEGIC } from "../contracts/api-examination.ts";
import { LOCAL_API } from "./local-api.ts";

const on = new Examination(LOCAL_API);

type List = Readonly<Record<string, string>>;

const resources = (requests: List, limits?: List) => ({
  resources: { requests, ...(limits ? { limits } : {}) },
});
const main = (more: object) => ({ containers: [{ name: "main", image: "i:1", ...more }] });
const ONE = { cpu: "1", memory: "1Gi" };
const TWO = { cpu: "2", memory: "2Gi" };
const HALF = { cpu: "500m", memory: "512Mi" };
const side = (more: object) => ({ name: "side", image: "i:1", restartPolicy: "Always", ...more });

interface Row {
  readonly what: string;
  readonly spec: object;
  readonly asked: object;
  /** What it is refused with; taken when absent. */
  readonly refused?: RegExp;
  readonly status?: object;
  readonly metadata?: object;
}

const ROWS: readonly Row[] = [
  { what: "more", spec: main(resources(HALF, ONE)), asked: main(resources(ONE, TWO)) },
  { what: "less", spec: main(resources(ONE, TWO)), asked: main(resources(HALF, ONE)) },
  {
    what: "limits where there were none",
    spec: main(resources(HALF)),
    asked: main(resources(HALF, ONE)),
  },
  {
    what: "a sidecar",
    spec: { ...main(resources(HALF)), initContainers: [side(resources(HALF))] },
    asked: { initContainers: [side(resources(ONE))] },
  },
  {
    what: "the pod as a whole",
    spec: { ...main({}), ...resources(HALF, ONE) },
    asked: resources(ONE, TWO),
  },
  {
    what: "a container, by a client that knows nothing of pod-level resources",
    spec: { ...main(resources(HALF, ONE)), ...resources(ONE, TWO) },
    asked: { ...main(resources(ONE, ONE)), resources: null },
  },
  {
    what: "another class of service",
    spec: main(resources(HALF, ONE)),
    asked: main(resources(ONE, ONE)),
    refused:
      /spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing/,
  },
  {
    what: "anything at all of a best-effort pod",
    spec: main({}),
    asked: main(resources({ cpu: "1" })),
    refused: /Pod QOS Class may not change as a result of resizing/,
  },
  {
    what: "requests over limits",
    spec: main(resources(HALF, ONE)),
    asked: main(resources({ cpu: "2", memory: "512Mi" }, ONE)),
    refused:
      /spec\.containers\[0\]\.resources\.requests: Invalid value: "2": must be less than or equal to cpu limit of 1/,
  },
  {
    what: "no request any more",
    spec: main(resources(HALF)),
    asked: main(resources({ cpu: "500m", memory: null as unknown as string })),
    refused:
      /spec\.containers\[0\]\.resources\.requests: Forbidden: resource requests cannot be removed/,
  },
  {
    what: "no limit any more",
    spec: main(resources(HALF, ONE)),
    asked: main({ resources: { limits: { memory: null } } }),
    refused:
      /spec\.containers\[0\]\.resources\.limits: Forbidden: resource limits cannot be removed/,
  },
  {
    what: "no limit of the pod any more",
    spec: { ...main({}), ...resources(HALF, ONE) },
    asked: { resources: { limits: { cpu: null } } },
    refused: /spec\.resources\.limits: Forbidden: resource limits cannot be removed/,
  },
  {
    what: "another kind of resource",
    spec: main(resources(HALF)),
    asked: main(resources({ ...HALF, "ephemeral-storage": "1Gi" })),
    refused: /spec: Forbidden: only cpu and memory resources are mutable/,
  },
  {
    what: "another policy",
    spec: main(resources(HALF)),
    asked: main({ resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] }),
    refused: /spec: Forbidden: only cpu and memory resources are mutable/,
  },
  {
    what: "an init container",
    spec: {
      ...main(resources(HALF)),
      initContainers: [{ name: "init", image: "i:1", ...resources(HALF) }],
    },
    asked: { initContainers: [{ name: "init", ...resources(ONE) }] },
  },
  {
    what: "a node that knows nothing of it",
    spec: main(resources(HALF)),
    status: {
      containerStatuses: [
        {
          name: "main",
          image: "i:1",
          imageID: "",
          ready: true,
          restartCount: 0,
          state: { running: {} },
        },
      ],
    },
    asked: main(resources(ONE)),
    refused: /spec: Forbidden: Pod running on node without support for resize/,
  },
  {
    what: "a mirror pod",
    spec: { ...main(resources(HALF)), nodeName: "n" },
    metadata: { annotations: { "kubernetes.io/config.mirror": "x" } },
    asked: main(resources(ONE)),
    refused: /Forbidden: static pods cannot be resized/,
  },
];

for (const { what, spec, asked, refused, status, metadata } of ROWS)
  on.examine(`resize: ${what}`, async () => {
    const pod = await on.makePod(spec, metadata);
    const path = `${PODS}/${pod.metadata.name}`;
    if (status) await on.must("PATCH", `${path}/status`, { status }, MERGE_PATCH);
    const reply = await on.send({
      method: "PATCH",
      path: `${path}/resize`,
      contentType: STRATEGIC,
      body: { spec: asked },
    });
    if (refused) {
      assert.equal(reply.status, 422, JSON.stringify(reply.body));
      assert.match(reply.body.message, refused);
      return;
    }
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    assert.equal(reply.body.metadata.generation, pod.metadata.generation + 1);
    const kept = await on.must("GET", path);
    assert.notDeepEqual(kept.spec, pod.spec);
    assert.deepEqual(kept.spec, reply.body.spec);
  });

on.examine("resize: what is no concern of it stays as it was", async () => {
  const pod = await on.makePod(main(resources(HALF)));
  const path = `${PODS}/${pod.metadata.name}`;
  const asked = {
    ...pod,
    metadata: { name: pod.metadata.name, labels: { a: "b" } },
    spec: {
      ...pod.spec,
      activeDeadlineSeconds: 5,
      containers: [{ ...pod.spec.containers[0], image: "other:1", ...resources(ONE) }],
    },
  };
  const kept = await on.must("PUT", `${path}/resize`, asked);
  assert.equal(kept.spec.activeDeadlineSeconds, undefined);
  assert.equal(kept.metadata.labels, undefined);
  const [container] = kept.spec.containers;
  assert.deepEqual([container.image, container.resources.requests], ["i:1", ONE]);
});

on.examine("resources do not change but through resize", async () => {
  const pod = await on.makePod(main(resources(HALF)));
  const reply = await on.send({
    method: "PATCH",
    path: `${PODS}/${pod.metadata.name}`,
    contentType: STRATEGIC,
    body: { spec: main(resources(ONE)) },
  });
  assert.equal(reply.status, 422);
  assert.match(reply.body.message, /spec: Forbidden: pod updates may not change fields/);
});
