import assert from "node:assert/strict";
import { test } from "node:test";
import { hostIpsOfNode, sortPodIps } from "./node-addresses.ts";

const HOST_IPS: readonly (readonly [readonly string[], readonly string[] | undefined])[] = [
  [[], undefined],
  [["Hostname node-1"], undefined],
  [["InternalIP 10.0.0.1", "Hostname node-1"], ["10.0.0.1"]],
  [["ExternalIP 198.51.100.1", "InternalIP 10.0.0.1"], ["10.0.0.1"]],
  [["InternalIP 10.0.0.1", "InternalIP 10.0.0.2"], ["10.0.0.1"]],
  [
    ["InternalIP fd00::1", "InternalIP 10.0.0.1"],
    ["fd00::1", "10.0.0.1"],
  ],
  [
    ["InternalIP 10.0.0.1", "InternalIP 10.0.0.2", "ExternalIP 2001:db8::1"],
    ["10.0.0.1", "2001:db8::1"],
  ],
  [["ExternalIP 198.51.100.1"], ["198.51.100.1"]],
];

for (const [given, expected] of HOST_IPS)
  test(`hostIpsOfNode: ${given.join(", ") || "nothing"}`, () => {
    const addresses = given.map((text) => {
      const [type = "", address = ""] = text.split(" ");
      return { type, address };
    });
    assert.deepEqual(hostIpsOfNode({ status: { addresses } }), expected);
  });

const POD_IPS: readonly (readonly [
  ips: readonly string[],
  hostIps: readonly string[],
  expected: readonly string[],
])[] = [
  [[], ["192.0.2.1"], []],
  [["10.1.0.5"], ["192.0.2.1"], ["10.1.0.5"]],
  [["fd01::5", "10.1.0.5"], ["192.0.2.1"], ["10.1.0.5", "fd01::5"]],
  [
    ["10.1.0.5", "fd01::5"],
    ["2001:db8::1", "192.0.2.1"],
    ["fd01::5", "10.1.0.5"],
  ],
  [["10.1.0.5", "10.2.0.5"], ["192.0.2.1"], ["10.1.0.5"]],
  [["10.1.0.5", "10.2.0.5", "fd01::5", "fd02::5"], ["192.0.2.1"], ["10.1.0.5", "fd01::5"]],
  [["fd01::5"], ["192.0.2.1"], ["fd01::5"]],
  [["fd01::5", "10.1.0.5"], [], ["10.1.0.5", "fd01::5"]],
];

for (const [ips, hostIps, expected] of POD_IPS)
  test(`sortPodIps: ${ips.join(", ") || "none"} on ${hostIps.join(", ") || "an unknown node"}`, () =>
    assert.deepEqual(sortPodIps(ips, hostIps), expected));
