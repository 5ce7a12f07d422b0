import assert from "node:assert/strict";
import { test } from "node:test";
import type { WallMs } from "../../kit/clock.ts";
import { flagsObject, flagsText, pageFormOf, statusObject, statusText } from "./z-pages.ts";

const TEXT = { kind: "text" };
const FORMS: readonly (readonly [string | undefined, unknown])[] = [
  [undefined, TEXT],
  ["", TEXT],
  ["*/*", TEXT],
  ["text/html, text/plain;q=0.9", TEXT],
  ["application/json;v=v1beta1;g=config.k8s.io;as=Statusz", { kind: "object", version: "v1beta1" }],
  [
    "application/json; as=Statusz; g=config.k8s.io; v=v1alpha1, */*",
    { kind: "object", version: "v1alpha1" },
  ],
  ["application/json;v=v1;g=config.k8s.io;as=Statusz", { kind: "none" }],
  ["application/json;v=v1beta1;g=config.k8s.io;as=Flagz", { kind: "none" }],
  ["application/json", { kind: "none" }],
];

for (const [accept, expected] of FORMS)
  test(`pageFormOf of Accept: ${accept}`, () => {
    assert.deepEqual(pageFormOf(accept, "Statusz"), expected);
  });

const HEADER =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

test("statusText and statusObject show start, uptime, versions and paths", () => {
  const startedAt = Date.parse("2024-10-06T21:03:43Z") as WallMs;
  const page = {
    startedAt,
    now: (startedAt + 3_723_900) as WallMs,
    engineVersion: "node v26.10.0",
    binaryVersion: "1.36.2",
    paths: ["/healthz", "/metrics"],
  };
  assert.deepEqual(statusText(page).split("\n"), [
    "",
    "kubelet statusz",
    HEADER,
    "",
    "Started: Sun Oct  6 21:03:43 UTC 2024",
    "Up: 1 hr 02 min 03 sec",
    "Go version: node v26.10.0",
    "Binary version: 1.36.2",
    "Paths: /healthz /metrics",
    "",
  ]);
  assert.deepEqual(statusObject(page, "v1beta1"), {
    kind: "Statusz",
    apiVersion: "config.k8s.io/v1beta1",
    metadata: { name: "kubelet" },
    startTime: "2024-10-06T21:03:43Z",
    uptimeSeconds: 3723,
    goVersion: "node v26.10.0",
    binaryVersion: "1.36.2",
    paths: ["/healthz", "/metrics"],
  });
});

test("flagsText and flagsObject have one entry for each flag", () => {
  const flags = { address: "0.0.0.0", v: "2" };
  assert.deepEqual(flagsText(flags).split("\n"), [
    "",
    "kubelet flagz",
    HEADER,
    "",
    "address=0.0.0.0",
    "v=2",
    "",
  ]);
  assert.deepEqual(flagsObject(flags, "v1alpha1"), {
    kind: "Flagz",
    apiVersion: "config.k8s.io/v1alpha1",
    metadata: { name: "kubelet" },
    flags,
  });
});
