// How requests for images are counted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ImageWorld } from "./world.ts";

const IMAGE = "nodelet.test/app:1";

test("requests for images are counted by what was found out of them", async () => {
  const world = await new ImageWorld().open();
  await world.ensure("Not A Name");
  await world.ensure(IMAGE, { policy: "Never" });
  await world.ensure(IMAGE);
  await world.ensure(IMAGE);
  await world.ensure(IMAGE, { policy: "Never" });
  await world.ensure(IMAGE, { policy: "Always" });
  world.runtime.goDown();
  await world.ensure(IMAGE, { policy: "Never" });
  const lines = world.metrics
    .expose()
    .match(/^kubelet_image_manager_ensure_image_requests_total\{.*$/gm)
    ?.map((line) =>
      [...line.matchAll(/="(\w*)"|} (\d+)$/g)].map((found) => found[1] ?? found[2]).join(" "),
    );
  // Present locally, policy, pull required, how often.
  assert.deepEqual(lines?.sort(), [
    "false ifnotpresent true 1",
    "false never unknown 1",
    "true ifnotpresent false 1",
    "true never false 1",
    "unknown always true 1",
    "unknown ifnotpresent unknown 1",
    "unknown never unknown 1",
  ]);
});
