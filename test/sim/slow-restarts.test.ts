// A container that crashes on a slow runtime: what the API shows from moment to moment is what has happened.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus } from "../../src/api/generated/types.ts";
import { inCluster, podOf } from "./cluster-world.ts";

const STEP_MS = 250;
const STEPS = 8_000;

for (const latencyMs of [0, 2_000, 20_000])
  test(`a container that crashes is shown waiting until it runs, calls take up to ${latencyMs} ms`, () =>
    inCluster(async ({ world, api, pod }) => {
      world.runtime.options.latencyMs = latencyMs;
      const crashing = podOf("crashing", { kind: "exit", code: 3, afterMs: 2_000 }, "Always");
      api.objects.create({ collection: "pods", namespace: "default" }, crashing);
      const shown: ContainerStatus[] = [];
      for (let step = 0; step < STEPS; step += 1) {
        await world.advance(STEP_MS);
        const [status] = pod("crashing")?.status?.containerStatuses ?? [];
        if (status && JSON.stringify(status) !== JSON.stringify(shown.at(-1))) shown.push(status);
      }
      for (const [index, status] of shown.entries()) checkStep(shown[index - 1], status);
      assert.ok((shown.at(-1)?.restartCount ?? 0) >= 4, "it was started again and again");
    }));

function checkStep(before: ContainerStatus | undefined, now: ContainerStatus): void {
  const text = `${JSON.stringify(before)} then ${JSON.stringify(now)}`;
  const { state, lastState, restartCount, containerID } = now;
  const counted = before?.restartCount ?? 0;
  assert.ok(restartCount >= counted, `fewer restarts: ${text}`);
  if (state?.waiting && containerID !== undefined)
    assert.equal(lastState?.terminated?.containerID, containerID, `not begun yet: ${text}`);
  if (before?.lastState?.terminated) assert.ok(lastState?.terminated, `no last end: ${text}`);
  if (before?.state?.waiting && state?.terminated)
    assert.ok(restartCount > counted || counted === 0, `ended without a start: ${text}`);
}
