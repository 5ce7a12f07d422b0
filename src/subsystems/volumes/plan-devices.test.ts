import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeDevice } from "../../api/generated/types.ts";
import { planDevices } from "./plan-devices.ts";

const MADE = new Map([
  ["disk", { device: "/n/disk", readOnly: false }],
  ["kept", { device: "/n/kept", readOnly: true }],
  ["files", { readOnly: false }],
]);
const fault = (message: string) => ({ kind: "fault", message });

const CASES: readonly (readonly [what: string, devices: readonly VolumeDevice[], plan: object])[] =
  [
    ["none", [], { kind: "devices", devices: [] }],
    [
      "one to write and one to read",
      [
        { name: "disk", devicePath: "/dev/x" },
        { name: "kept", devicePath: "/dev/y" },
      ],
      {
        kind: "devices",
        devices: [
          { containerPath: "/dev/x", hostPath: "/n/disk", permissions: "mrw" },
          { containerPath: "/dev/y", hostPath: "/n/kept", permissions: "r" },
        ],
      },
    ],
    [
      "a place that is not absolute",
      [{ name: "disk", devicePath: "dev/x" }],
      fault("error DevicePath `dev/x` must be an absolute path"),
    ],
    [
      "a volume of files",
      [{ name: "files", devicePath: "/dev/x" }],
      fault('cannot find volume "files" to pass into container "c"'),
    ],
    [
      "no volume",
      [{ name: "none", devicePath: "/dev/x" }],
      fault('cannot find volume "none" to pass into container "c"'),
    ],
  ];

for (const [what, volumeDevices, plan] of CASES)
  test(`planDevices: ${what}`, () =>
    assert.deepEqual(planDevices({ name: "c", volumeDevices }, MADE), plan));
