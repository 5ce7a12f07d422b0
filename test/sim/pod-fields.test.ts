// Single fields of pods, seen from the runtime's side of a world without faults.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../../src/api/generated/types.ts";
import { Signal } from "../../src/outside/cri/generated/api.ts";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const COMMAND = [...commandOf({ kind: "sleep" })];
const IMAGE = "nodelet.test/nodelet-test:1";

/** A calm world with an agent and one static pod, ten seconds later. */
async function withPod(spec: PodSpec, use: (world: World) => Promise<void>): Promise<void> {
  const world = new World(1);
  const text = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  await world.host.files.writeAtomic(`${MANIFESTS}/p.json`, text, 0o644);
  world.startAgent();
  await world.advance(10_000);
  try {
    await use(world);
  } finally {
    world.killAgent();
  }
}

const statusOf = (world: World) => world.agent?.pipeline.statuses.list()[0]?.status;

test("stop signals reach the runtime, and the status shows them where they were asked for", () => {
  const main = { image: IMAGE, command: COMMAND };
  const containers = [
    { ...main, name: "asks", lifecycle: { stopSignal: "SIGRTMIN+3" } },
    { ...main, name: "does-not" },
  ];
  return withPod({ os: { name: "linux" }, containers }, async (world) => {
    const signals = [...world.runtime.containers.values()].map(({ config }) => config.stopSignal);
    assert.deepEqual(signals, [Signal.SIGRTMINPLUS3, Signal.RUNTIME_DEFAULT]);
    assert.deepEqual(
      statusOf(world)?.containerStatuses?.map(({ name, stopSignal }) => [name, stopSignal]),
      [
        ["asks", "SIGRTMIN+3"],
        ["does-not", undefined],
      ],
    );
  });
});
