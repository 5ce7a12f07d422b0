import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeUpdateProblems } from "../../api/validation/node-update.ts";
import { LATEST_RELEASE, type Release } from "../release.ts";
import { declaredFeatures } from "./declared-features.ts";
import { resolveGates } from "./feature-gates.ts";

const of = (
  settings: Readonly<Record<string, boolean>>,
  userNamespacesHostNetwork = false,
  release: Release = LATEST_RELEASE,
) =>
  declaredFeatures(resolveGates(settings, release).gates, {
    userNamespacesHostNetwork,
    mountOptions: false,
  });

const ALL = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
];

test("declaredFeatures: what is on and served here, as the API takes it", () => {
  assert.deepEqual(of({}), ALL);
  const withoutInit = { InPlacePodVerticalScalingInitContainers: false };
  assert.deepEqual(of(withoutInit), ALL, "locked");
  assert.deepEqual(of(withoutInit, false, "1.36"), [ALL[0], ALL[1], ALL[3]]);
  assert.deepEqual(of({ ExtendWebSocketsToKubelet: false }), ALL.slice(1));
  assert.equal(
    of(
      {
        NodeDeclaredFeatures: false,
        ExtendWebSocketsToKubelet: false,
        InPlacePodLevelResourcesVerticalScaling: false,
        RestartAllContainersOnContainerExits: false,
      },
      false,
      "1.36",
    ),
    undefined,
  );
  assert.deepEqual(nodeUpdateProblems({ status: { declaredFeatures: of({}) ?? [] } }, {}), []);
});

test("declaredFeatures: own users in the node's network take gate and runtime", () => {
  const gate = "UserNamespacesHostNetworkSupport";
  assert.deepEqual(of({ [gate]: true }, true), [...ALL, gate]);
  assert.deepEqual(of({ [gate]: true }), ALL);
  assert.deepEqual(of({}, true), ALL);
});

test("declaredFeatures: options of bind mounts take gate and runtime", () => {
  const gate = "VolumeBindMountOptions";
  const able = (isOn: boolean, mountOptions: boolean) =>
    declaredFeatures(resolveGates({ [gate]: isOn }).gates, {
      userNamespacesHostNetwork: false,
      mountOptions,
    });
  assert.deepEqual(able(true, true), [...ALL, gate]);
  assert.deepEqual(able(true, false), ALL);
  assert.deepEqual(able(false, true), ALL);
});
