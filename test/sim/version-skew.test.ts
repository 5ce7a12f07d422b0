// Pods of an API server that knows more than the agent, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "./world.ts";

const MAIN = { name: "main", image: "nodelet.test/nodelet-test:1" };

/** A calm cluster with one pod on this node, half a minute later. */
async function withApiPod(
  spec: object,
  use: (world: World, reported: (reason: string) => readonly string[]) => Promise<void> | void,
): Promise<void> {
  const world = new World(11, {}, { cluster: true });
  const { api } = world;
  assert.ok(api);
  world.startAgent();
  await world.advance(10_000);
  api.objects.create(
    { collection: "pods", namespace: "default" },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "later", namespace: "default", uid: "later-1" },
      spec: { nodeName: "sim", restartPolicy: "Always", ...spec },
      status: { phase: "Pending" },
    },
  );
  await world.advance(30_000);
  const reported = (reason: string) =>
    (api.objects.list("events") as readonly { reason?: string; note?: string; message?: string }[])
      .filter((event) => event.reason === reason)
      .map(({ message, note }) => message ?? note ?? "");
  try {
    await use(world, reported);
  } finally {
    world.killAgent();
  }
}

const phaseOf = (world: World) =>
  world.agent?.pipeline.statuses.list().find(({ pod }) => pod.metadata?.name === "later")?.status;

test("fields of a later API are ignored with one warning", () =>
  withApiPod(
    { containers: [{ ...MAIN, colour: "blue", resources: { shade: 1 } }], behaviours: ["calm"] },
    async (world, reported) => {
      assert.equal(phaseOf(world)?.phase, "Running");
      const expected =
        'unknown fields "spec.containers[0].resources.shade", "spec.containers[0].colour", "spec.behaviours" are ignored: this agent knows Kubernetes 1.37';
      assert.deepEqual(reported("UnknownField"), [expected]);
      await world.advance(60_000);
      assert.deepEqual(reported("UnknownField"), [expected]);
    },
  ));

const UNSERVED = {
  "a volume of a kind that is not supported": {
    containers: [MAIN],
    volumes: [{ name: "share", glusterfs: { endpoints: "e", path: "/" } }],
  },
  "a volume of a kind of a later API": {
    containers: [MAIN],
    volumes: [{ name: "share", hologram: {} }],
  },
  "a source of a later API in a projected volume": {
    containers: [MAIN],
    volumes: [{ name: "share", projected: { sources: [{ hologram: {} }] } }],
  },
  "a resource claim": {
    containers: [{ ...MAIN, resources: { claims: [{ name: "share" }] } }],
    resourceClaims: [{ name: "share", resourceClaimName: "gpu" }],
  },
};

const CLAIM_EVENT =
  /^Failed to prepare dynamic resources: prepare dynamic resources: fetch ResourceClaim gpu: /;

for (const [what, spec] of Object.entries(UNSERVED))
  test(`${what} leaves the pod waiting, with an event`, () =>
    withApiPod(spec, (world, reported) => {
      const { phase, containerStatuses } = phaseOf(world) ?? {};
      assert.equal(phase, "Pending");
      assert.deepEqual(containerStatuses?.[0]?.state, { waiting: { reason: "ContainerCreating" } });
      if ("resourceClaims" in spec)
        assert.match(reported("FailedPrepareDynamicResources")[0] ?? "", CLAIM_EVENT);
      else
        assert.match(
          reported("FailedMount")[0] ?? "",
          /failed for volume "share" : .*not supported/,
        );
      assert.equal(world.runtime.containers.size, 0);
    }));
