import assert from "node:assert/strict";
import { test } from "node:test";
import { takesCdiDevices } from "../../subsystems/runtime/features.ts";
import { missingDevices } from "./missing-devices.ts";

const NO_DEVICE_PARTS = { env: [], mounts: [], devices: [], annotations: {}, cdiDevices: [] };
const CDI = {
  ...NO_DEVICE_PARTS,
  annotations: { "io.nodelet.devices": "{}" },
  cdiDevices: ["example.com/gpu=0", "example.com/gpu=1"],
};
const NODE = { containerPath: "/dev/gpu0", hostPath: "/dev/gpu0", permissions: "rw" };

test("missingDevices names devices that only CDI could give, where the runtime does not read it", () => {
  const old = { cdiDevices: false };
  assert.match(
    missingDevices("main", CDI, old) ?? "",
    /^container main starts without its devices example.com\/gpu=0, example.com\/gpu=1: /,
  );
  for (const [parts, features] of [
    [CDI, { cdiDevices: true }],
    [CDI, {}],
    [NO_DEVICE_PARTS, old],
    [{ ...CDI, devices: [NODE] }, old],
    [{ ...CDI, env: [{ name: "GPUS", value: "0" }] }, old],
    [{ ...CDI, annotations: { "example.com/gpu": "0" } }, old],
  ] as const)
    assert.equal(missingDevices("main", parts, features), undefined);
});

for (const [runtimeName, runtimeVersion, expected] of [
  ["containerd", "1.6.20~ds1", false],
  ["containerd", "v1.7.24", true],
  ["containerd", "2.2.9", true],
  ["cri-o", "1.30.0", true],
  ["another", "0.1", true],
] as const)
  test(`takesCdiDevices ${runtimeName} ${runtimeVersion}: ${expected}`, () => {
    assert.equal(takesCdiDevices({ runtimeName, runtimeVersion }), expected);
  });
