// When it is reported that pull secrets of a pod are missing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ImageOutcome } from "../../src/api/image-outcome.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { ImageWorld, podOf } from "./world.ts";

const IMAGE = "nodelet.test/app:1";
const reasonOf = (answer: ImageOutcome) => (answer.kind === "refused" ? answer.reason : "");
const isOfMissingSecrets = (text: string) => text.startsWith("FailedToRetrieveImagePullSecret");

test("secrets that are missing are reported once a pull has failed, and not while the next one waits", async () => {
  const world = await new ImageWorld({
    pullSecrets: async () => ({ secrets: [], missing: ["one", "two"] }),
  }).open();
  world.runtime.store.onPull = () => {
    throw new OutsideError("denied", "401 Unauthorized");
  };
  const pod = podOf(IMAGE, { imagePullSecrets: [{ name: "one" }, { name: "two" }] }, "uid-1");
  assert.equal(reasonOf(await world.ensure(IMAGE, { pod })), "ErrImagePull");
  assert.equal(
    world.reported.at(-1),
    "FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (one, two); attempting to pull the image may not succeed.",
  );
  assert.equal(reasonOf(await world.ensure(IMAGE, { pod })), "ImagePullBackOff");
  assert.equal(world.reported.filter(isOfMissingSecrets).length, 1);
  world.runtime.store.onPull = () => {
    throw new OutsideError("unavailable", "RegistryUnavailable: try later");
  };
  const again = await world.ensure("nodelet.test/other:1", { pod });
  assert.equal(reasonOf(again), "RegistryUnavailable");
  assert.equal(world.reported.filter(isOfMissingSecrets).length, 1, "it is no matter of secrets");
});
