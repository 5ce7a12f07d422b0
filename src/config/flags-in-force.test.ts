import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CONFIG } from "./fields/defaults.ts";
import { DEFAULT_FLAGS } from "./flags/kubelet-flags.ts";
import { flagsInForce } from "./flags-in-force.ts";

test("flagsInForce: every flag with its value as Go prints it, whoever set it, and no credentials", () => {
  const flags = flagsInForce(
    { ...DEFAULT_FLAGS, nodeLabels: { a: "1", b: "2" }, rootDir: "/k" },
    {
      ...DEFAULT_CONFIG,
      staticPodURLHeader: { Authorization: ["Bearer secret"] },
      clusterDNS: ["10.0.0.10", "fd00::10"],
      evictionHard: { "memory.available": "100Mi" },
    },
  );
  const expected: Readonly<Record<string, string>> = {
    address: "0.0.0.0",
    "cluster-dns": "[10.0.0.10,fd00::10]",
    "device-wait": "2m0s",
    "eviction-hard": "memory.available=100Mi",
    "manifest-url-header": "Authorization=<masked>",
    "node-labels": "a=1,b=2",
    port: "10250",
    "root-dir": "/k",
    "sync-frequency": "1m0s",
    v: "0",
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(flags[name], value, name);
  assert.ok(!JSON.stringify(flags).includes("secret"));
  assert.deepEqual(Object.keys(flags), Object.keys(flags).sort());
});
