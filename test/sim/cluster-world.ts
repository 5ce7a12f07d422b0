// A node of a cluster in the simulation, for tests of single stories.
import assert from "node:assert/strict";
import type { Node, Pod } from "../../src/api/generated/types.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { commandOf, type Program } from "./programs.ts";
import { MANIFESTS, World, type WorldOptions } from "./world.ts";

/** A node of a cluster on virtual time, and what tests ask of it. */
export interface ClusterWorld {
  readonly world: World;
  readonly api: FakeApiServer;
  pod(name: string): Pod | undefined;
  node(): Node | undefined;
  create(name: string, program: Program, restartPolicy?: string): void;
}

/** Runs `use` with an agent that has just been started; on failure says what happened last. */
export async function inCluster(
  use: (cluster: ClusterWorld) => Promise<void>,
  featureGates: Readonly<Record<string, boolean>> = {},
  flags: Pick<WorldOptions, "agent" | "config" | "externalCloud"> = {},
): Promise<void> {
  const world = new World(7, {}, { cluster: true, featureGates, ...flags });
  const { api } = world;
  assert.ok(api);
  const found = (collection: string, name: string, namespace?: string) =>
    api.objects.find({ collection, namespace, name }) as StoredObject | undefined;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  try {
    world.startAgent();
    await use({
      world,
      api,
      pod: (name) => found("pods", name, "default") as Pod | undefined,
      node: () => found("nodes", "sim") as Node | undefined,
      create: (name, program, restartPolicy = "Always") => {
        api.objects.create(
          { collection: "pods", namespace: "default" },
          podOf(name, program, restartPolicy),
        );
      },
    });
  } catch (error) {
    console.log(world.trace.slice(-40).join("\n"));
    throw error;
  }
}

/** A pod of one container, bound to the node. */
export function podOf(
  name: string,
  program: Program,
  restartPolicy: string,
): Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      nodeName: "sim",
      restartPolicy,
      terminationGracePeriodSeconds: 5,
      containers: [
        { name: "main", image: "nodelet.test/nodelet-test:1", command: commandOf(program) },
      ],
    },
  };
}

/** Status of a condition. */
export const conditionOf = (object: Pod | Node | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type)?.status;
