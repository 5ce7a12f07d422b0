import assert from "node:assert/strict";
import { test } from "node:test";
import { podDns } from "./dns.ts";
import { featuresOf } from "./features.ts";

const version = (runtimeName: string, runtimeVersion: string) => ({ runtimeName, runtimeVersion });

/** Runtime, its version, whether it mounts images, and parts of them, and sends signals of our choice. */
const VERSIONS: readonly (readonly [string, string, boolean, boolean, boolean])[] = [
  ["containerd", "1.6.20~ds1", false, false, false],
  ["containerd", "v1.7.24", false, false, false],
  ["containerd", "2.0.5", false, false, false],
  ["containerd", "v2.1.0-rc.0", true, false, false],
  ["containerd", "2.2.0", true, true, false],
  ["containerd", "2.3.0", true, true, true],
  ["containerd", "3.0.0", true, true, true],
  ["cri-o", "1.30.0", false, false, false],
  ["cri-o", "1.31.2", true, false, false],
  ["cri-o", "1.34.0", true, true, true],
  ["another", "0.1", true, true, true],
];

for (const [name, text, imageVolumes, imageSubPaths, stopSignals] of VERSIONS)
  test(`featuresOf ${name} ${text}: images ${imageVolumes}, parts ${imageSubPaths}, signals ${stopSignals}`, () => {
    const found = featuresOf({ runtimeHandlers: [] }, version(name, text), "");
    const expected = { imageVolumes, imageSubPaths, stopSignals };
    assert.deepEqual(found, { recursiveReadOnly: false, ...expected });
  });

test("featuresOf asks the pod's own handler", () => {
  const handler = (name: string, recursiveReadOnlyMounts: boolean) => ({
    name,
    features: { recursiveReadOnlyMounts, userNamespaces: false },
  });
  const status = { runtimeHandlers: [handler("", true), handler("kata", false)] };
  const of = (name: string) =>
    featuresOf(status, version("containerd", "2.1.0"), name).recursiveReadOnly;
  assert.deepEqual([of(""), of("kata"), of("unknown")], [true, false, false]);
});

const HOST = { servers: ["192.0.2.1"], searches: ["host.example"], options: [] };
const CLUSTER = { servers: ["10.96.0.10"], domain: "cluster.local", host: HOST };

test("podDns adds what the pod asks for, without repeating, and its options go first", () => {
  const dnsConfig = {
    nameservers: ["10.96.0.10", "192.0.2.9"],
    searches: ["own.example", "cluster.local"],
    options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
  };
  const pod = { metadata: { namespace: "shop" }, spec: { containers: [], dnsConfig } };
  assert.deepEqual(podDns(pod, CLUSTER), {
    servers: ["10.96.0.10", "192.0.2.9"],
    searches: [
      "shop.svc.cluster.local",
      "svc.cluster.local",
      "cluster.local",
      "host.example",
      "own.example",
    ],
    options: ["ndots:2", "edns0"],
  });
  const none = { ...pod, spec: { ...pod.spec, dnsPolicy: "None" } };
  assert.deepEqual(podDns(none, CLUSTER).servers, dnsConfig.nameservers);
});
