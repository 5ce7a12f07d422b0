import assert from "node:assert/strict";
import { test } from "node:test";
import type { Probe } from "../../api/generated/types.ts";
import { parseProbeSettings } from "./settings.ts";
import { kindsOf, resolvePort, rulesOf } from "./target.ts";

const NO_SETTINGS = parseProbeSettings({}, new Set());
const ruled = (kind: "liveness" | "readiness", probe: Probe, settings = NO_SETTINGS) =>
  rulesOf({ name: "web", [`${kind}Probe`]: probe }, kind, settings);

test("rulesOf fills in the API's defaults, also for numbers that the API would refuse", () => {
  const defaults = {
    kind: "liveness",
    periodMs: 10_000,
    finePeriodMs: undefined,
    timeoutMs: 1000,
    initialDelaySeconds: 0,
    successThreshold: 1,
    failureThreshold: 3,
  };
  assert.deepEqual(ruled("liveness", {}), defaults);
  const zeros = {
    periodSeconds: 0,
    timeoutSeconds: 0,
    initialDelaySeconds: -1,
    successThreshold: 0,
    failureThreshold: 0,
  };
  assert.deepEqual(ruled("liveness", zeros), defaults);
  assert.deepEqual(
    ruled("readiness", {
      periodSeconds: 1,
      timeoutSeconds: 2,
      initialDelaySeconds: 3,
      successThreshold: 4,
      failureThreshold: 5,
    }),
    {
      kind: "readiness",
      periodMs: 1000,
      finePeriodMs: undefined,
      timeoutMs: 2000,
      initialDelaySeconds: 3,
      successThreshold: 4,
      failureThreshold: 5,
    },
  );
});

test("rulesOf takes times of its own for this probe from the pod's settings", () => {
  const annotations = {
    "nodelet.dev/probe-periods": "web/liveness=200ms",
    "nodelet.dev/probe-timeouts": "web/liveness=100ms",
  };
  const settings = parseProbeSettings(annotations, new Set(["web/liveness"]));
  const { periodMs, finePeriodMs, timeoutMs } = ruled("liveness", {}, settings);
  assert.deepEqual([periodMs, finePeriodMs, timeoutMs], [10_000, 200, 100]);
  assert.equal(ruled("readiness", {}, settings).finePeriodMs, undefined);
});

test("kindsOf names the probes a container has", () => {
  assert.deepEqual(kindsOf({ name: "c" }), []);
  assert.deepEqual(kindsOf({ name: "c", livenessProbe: {}, startupProbe: {} }), [
    "startup",
    "liveness",
  ]);
});

test("resolvePort finds ports by number and by name, and takes no name for a number", () => {
  const container = {
    name: "c",
    ports: [
      { name: "web", containerPort: 8080 },
      { name: "odd", containerPort: 70_000 },
      { containerPort: 1 },
    ],
  };
  const cases: readonly (readonly [number | string, unknown])[] = [
    [80, { port: 80 }],
    [65_535, { port: 65_535 }],
    ["web", { port: 8080 }],
    ["90", { error: 'port "90" not found' }],
    [0, { error: "invalid port number: 0" }],
    [65_536, { error: "invalid port number: 65536" }],
    [-1, { error: "invalid port number: -1" }],
    ["-1", { error: 'port "-1" not found' }],
    ["odd", { error: "invalid port number: 70000" }],
    ["http", { error: 'port "http" not found' }],
    ["", { error: 'port "" not found' }],
  ];
  for (const [port, expected] of cases) assert.deepEqual(resolvePort(port, container), expected);
});
