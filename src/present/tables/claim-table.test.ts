import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClaimReport, DevicesReply } from "../shapes.ts";
import { plainPaint } from "../text.ts";
import { renderDevices } from "./device-table.ts";

const NOW = 1_790_000_000_000;
const SHOWN = { now: NOW, wide: false, paint: plainPaint };

const GPU = {
  driver: "gpu.example.com",
  pool: "node-1",
  device: "gpu-0",
  requests: ["gpu"],
  cdiDevices: ["example.com/gpu=0"],
  health: "Healthy" as const,
};

const CLAIMS: ClaimReport = {
  drivers: [
    { name: "gpu.example.com", state: "connected", sockets: ["/a.sock", "/b.sock"] },
    { name: "nic.example.com", state: "unreachable", sockets: ["/c.sock"] },
  ],
  claims: [
    {
      namespace: "default",
      name: "pair",
      uid: "u1",
      state: "prepared",
      preparedMs: NOW - 720_000,
      withoutDevices: [],
      devices: [GPU, { ...GPU, device: "gpu-1", share: "s", health: "Unhealthy" }],
      pods: ["default/train", "default/watch"],
    },
    {
      namespace: "default",
      name: "net",
      uid: "u2",
      state: "preparing",
      withoutDevices: ["nic.example.com"],
      devices: [],
      pods: ["u3"],
    },
  ],
  waiting: [
    {
      pod: "default/web",
      for: "preparation",
      claims: ["gpu"],
      reason: "DRA driver gpu.example.com is not registered",
      sinceMs: NOW - 12_000,
    },
    {
      pod: "default/old",
      for: "end",
      claims: ["a", "b"],
      reason: "DRA driver nic.example.com is not registered",
      sinceMs: NOW - 90_000,
    },
  ],
};

const report = (dynamicResources: ClaimReport): DevicesReply => ({
  resources: [],
  notes: [],
  dynamicResources,
});

test("renderDevices: drivers, devices of claims with their pods, and who waits for what", () => {
  assert.deepEqual(renderDevices(report(CLAIMS), SHOWN), [
    "gpu.example.com: DRA driver connected, 2 instances",
    "nic.example.com: DRA driver unreachable",
    "",
    "CLAIM          DRIVER            DEVICE                   HEALTH      STATE       PODS                          SINCE",
    "default/pair   gpu.example.com   node-1/gpu-0             healthy     prepared    default/train,default/watch   12m",
    "default/pair   gpu.example.com   node-1/gpu-1 (share s)   unhealthy   prepared    default/train,default/watch   12m",
    "default/net    nic.example.com   -                        -           preparing   u3                            -",
    "",
    "default/web has waited 12s for its claim gpu: DRA driver gpu.example.com is not registered",
    "default/old has waited 90s for the end of its claims a, b: DRA driver nic.example.com is not registered",
  ]);
});

test("renderDevices -o wide: requests and CDI devices; claims without devices have a line as well", () => {
  const wide = renderDevices(report(CLAIMS), { ...SHOWN, wide: true });
  assert.match(wide[4] ?? "", / gpu +example.com\/gpu=0$/);
  const [claim] = CLAIMS.claims;
  assert.ok(claim);
  const bare = { ...claim, devices: [] };
  const lines = renderDevices(report({ drivers: [], claims: [bare], waiting: [] }), SHOWN);
  assert.match(lines[1] ?? "", /^default\/pair +- +- +- +prepared/);
  const nothing = { drivers: [], claims: [], waiting: [] };
  assert.deepEqual(renderDevices(report(nothing), SHOWN), [
    "No device plugin and no DRA driver has registered.",
  ]);
});
