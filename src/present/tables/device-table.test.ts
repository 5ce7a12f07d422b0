import assert from "node:assert/strict";
import { test } from "node:test";
import type { DevicesReply } from "../shapes.ts";
import { plainPaint } from "../text.ts";
import { renderDevices } from "./device-table.ts";

const NOW = 1_790_000_000_000;
const SHOWN = { now: NOW, wide: false, paint: plainPaint };

const REPORT: DevicesReply = {
  resources: [
    {
      resource: "v.com/gpu",
      plugin: "here",
      socketPath: "/p/gpu.sock",
      sinceSeconds: 7200,
      counts: { free: 1, owned: 1, unusable: 1 },
      devices: [
        {
          id: "g0",
          health: "healthy",
          numaNodes: [0, 1],
          owner: {
            podUid: "u",
            namespace: "default",
            name: "train",
            containers: ["prep", "main"],
            sinceMs: NOW - 60_000,
            answer: {
              env: ["VISIBLE"],
              mounts: ["/h:/m:ro"],
              deviceNodes: ["/dev/g0:/dev/g0:rw"],
              annotations: [],
              cdiDevices: ["v.com/gpu=g0"],
            },
          },
        },
        { id: "g1", health: "unhealthy", numaNodes: [], owner: undefined },
      ],
    },
  ],
  notes: ["pod u is gone; its devices are free"],
};

test("renderDevices: a line for each plugin, each device with its owner, what differed", () => {
  assert.deepEqual(renderDevices(REPORT, SHOWN), [
    "v.com/gpu: 1 free, 1 owned, 1 unusable; plugin connected since 120m",
    "",
    "RESOURCE    DEVICE   HEALTH      NUMA   POD             CONTAINERS   SINCE",
    "v.com/gpu   g0       healthy     0,1    default/train   prep,main    60s",
    "v.com/gpu   g1       unhealthy   -      -               -            -",
    "",
    "Differences from the checkpoint:",
    "  pod u is gone; its devices are free",
  ]);
});

test("renderDevices: more devices than a call may have arguments", () => {
  const [resource] = REPORT.resources;
  assert.ok(resource);
  const devices = Array.from({ length: 300_000 }, (_, i) => ({
    id: `g${i}`,
    health: "healthy" as const,
    numaNodes: [],
    owner: undefined,
  }));
  const lines = renderDevices({ ...REPORT, resources: [{ ...resource, devices }] }, SHOWN);
  assert.ok(lines.length > devices.length);
});

test("renderDevices -o wide shows what the plugin answered; without plugins it says so", () => {
  const wide = renderDevices(REPORT, { ...SHOWN, wide: true });
  assert.match(
    wide[3] ?? "",
    /env VISIBLE, mount \/h:\/m:ro, device \/dev\/g0:\/dev\/g0:rw, cdi v.com\/gpu=g0$/,
  );
  assert.deepEqual(renderDevices({ resources: [], notes: [] }, SHOWN), [
    "No device plugin and no DRA driver has registered.",
  ]);
});
