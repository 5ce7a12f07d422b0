import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device, DeviceClass, ResourceClaimSpec } from "../../api/generated/types.ts";
import { allocateClaim, type Offer } from "./allocate-claim.ts";
import { offeredDevices } from "./offered-devices.ts";

const GPU = "gpu.example.com";
const at = (model: string, numa: number) => ({
  attributes: { model: { string: model }, numa: { int: numa } },
});

const DEVICES: readonly Device[] = [
  { name: "g0", ...at("small", 0) },
  { name: "g1", ...at("small", 1) },
  { name: "g2", ...at("large", 1) },
  { name: "sick", ...at("large", 0), taints: [{ key: "sick", effect: "NoSchedule" }] },
];

const model = (name: string) => ({
  cel: { expression: `device.attributes["${GPU}"].model == "${name}"` },
});
const CLASSES = new Map<string, DeviceClass>([
  ["gpu", { spec: { selectors: [{ cel: { expression: `device.driver == "${GPU}"` } }] } }],
  [
    "large",
    { spec: { selectors: [model("large")], config: [{ opaque: { driver: GPU, parameters: 1 } }] } },
  ],
]);

const offer = (...taken: readonly string[]): Offer => ({
  devices: DEVICES.map((device) => ({ driver: GPU, pool: "n1", device })),
  classes: CLASSES,
  taken: new Set(taken.map((name) => `${GPU}/n1/${name}`)),
  nodeName: "n1",
});

type Devices = NonNullable<ResourceClaimSpec["devices"]>;

function chosen(devices: Devices, ...taken: readonly string[]): string {
  const allocation = allocateClaim({ devices }, offer(...taken));
  if (allocation.kind === "nothing") return allocation.why;
  const results = allocation.result.devices?.results ?? [];
  return results.map(({ request, device }) => `${request}=${device}`).join(" ");
}

const one = (deviceClassName: string, more: object = {}) => ({
  exactly: { deviceClassName, allocationMode: "ExactCount", count: 1, ...more },
});

test("allocateClaim: the first free devices that the class and the request choose", () => {
  const requests = [{ name: "a", ...one("gpu") }];
  assert.equal(chosen({ requests }), "a=g0");
  assert.equal(chosen({ requests }, "g0"), "a=g1");
  assert.equal(
    chosen({ requests }, "g0", "g1", "g2"),
    "request a is for 1 device of class gpu: 3 devices fit, 0 of them free",
  );
  assert.equal(chosen({ requests: [{ name: "a", ...one("large") }] }), "a=g2");
  const small = [{ name: "a", ...one("gpu", { selectors: [model("small")], count: 2 }) }];
  assert.equal(chosen({ requests: small }), "a=g0 a=g1");
  assert.equal(
    chosen({ requests: small }, "g1"),
    "request a is for 2 devices of class gpu: 2 devices fit, 1 of them free",
  );
  assert.equal(chosen({ requests: [{ name: "a", ...one("no") }] }), 'deviceclass "no" not found');
});

test("allocateClaim goes back where a first choice leaves nothing for another request", () => {
  const requests = [
    { name: "any", ...one("gpu") },
    { name: "first", ...one("gpu", { selectors: [model("small")] }) },
  ];
  assert.equal(chosen({ requests }, "g1"), "any=g2 first=g0");
});

test("allocateClaim: all devices or none, alternatives in order, tolerations", () => {
  const all = [{ name: "a", exactly: { deviceClassName: "gpu", allocationMode: "All" } }];
  assert.equal(chosen({ requests: all }), "a=g0 a=g1 a=g2");
  assert.match(chosen({ requests: all }, "g1"), /all devices of class gpu: 3 devices fit, 2 of/);
  const firstAvailable = [
    { name: "big", deviceClassName: "large", count: 1 },
    { name: "two", deviceClassName: "gpu", count: 2 },
  ];
  const ways = [{ name: "a", firstAvailable }];
  assert.equal(chosen({ requests: ways }), "a/big=g2");
  assert.equal(chosen({ requests: ways }, "g2"), "a/two=g0 a/two=g1");
  const tolerations = [{ key: "sick", operator: "Exists" }];
  const sick = [{ name: "a", ...one("large", { tolerations }) }];
  assert.equal(chosen({ requests: sick }, "g2"), "a=sick");
});

test("allocateClaim: constraints", () => {
  const requests = [
    { name: "a", ...one("gpu") },
    { name: "b", ...one("gpu") },
  ];
  const match = [{ matchAttribute: `${GPU}/numa` }];
  assert.equal(chosen({ requests, constraints: match }), "a=g1 b=g2");
  const apart = [{ distinctAttribute: `${GPU}/model`, requests: ["a", "b"] }];
  assert.equal(chosen({ requests, constraints: apart }), "a=g0 b=g2");
  assert.match(
    chosen({ requests, constraints: [{ matchAttribute: "unheard.of/x" }] }),
    /no combination of free devices fits/,
  );
});

test("allocateClaim: an expression that cannot be said of a device is a reason, and work has an end", () => {
  const selectors = [{ cel: { expression: `device.attributes["${GPU}"].colour == "red"` } }];
  assert.match(
    chosen({ requests: [{ name: "a", ...one("gpu", { selectors }) }] }),
    /^request a: selector of device g0: No such key: colour/,
  );
  const devices = Array.from({ length: 40 }, (_, i) => ({ name: `d${i}`, ...at("small", i) }));
  const many: Offer = {
    ...offer(),
    devices: devices.map((device) => ({ driver: GPU, pool: "n1", device })),
  };
  const requests = [{ name: "a", ...one("gpu", { count: 20 }) }];
  const constraints = [
    { matchAttribute: `${GPU}/model` },
    { matchAttribute: `${GPU}/numa`, requests: ["a"] },
  ];
  const began = performance.now();
  const allocation = allocateClaim({ devices: { requests, constraints } }, many);
  assert.equal(allocation.kind, "nothing");
  assert.ok(performance.now() - began < 2_000);
});

test("allocateClaim hands drivers the configuration of class and claim", () => {
  const requests = [{ name: "a", ...one("large") }];
  const config = [{ opaque: { driver: GPU, parameters: 2 }, requests: ["a"] }];
  const allocation = allocateClaim({ devices: { requests, config } }, offer());
  assert.ok(allocation.kind === "allocated");
  assert.deepEqual(allocation.result.devices?.config, [
    { source: "FromClass", requests: ["a"], opaque: { driver: GPU, parameters: 1 } },
    { source: "FromClaim", requests: ["a"], opaque: { driver: GPU, parameters: 2 } },
  ]);
  assert.deepEqual(allocation.ids, [`${GPU}/n1/g2`]);
});

test("offeredDevices: whole devices of this node, of the newest generation of pools that are complete", () => {
  const slice = (name: string, more: object = {}, pool: object = {}) => ({
    spec: {
      driver: GPU,
      nodeName: "n1",
      pool: { name: "p", generation: 2, resourceSliceCount: 1, ...pool },
      devices: [{ name }],
      ...more,
    },
  });
  const names = (...slices: readonly ReturnType<typeof slice>[]) =>
    offeredDevices(slices, "n1").map(({ device }) => device.name);
  assert.deepEqual(names(slice("old", {}, { generation: 1 }), slice("new")), ["new"]);
  assert.deepEqual(names(slice("half", {}, { resourceSliceCount: 2 })), []);
  assert.deepEqual(names(slice("other", { nodeName: "n2" })), []);
  assert.deepEqual(names(slice("any", { nodeName: undefined, allNodes: true })), ["any"]);
  const devices = [
    { name: "here", nodeName: "n1" },
    { name: "there", nodeName: "n2" },
    { name: "part", nodeName: "n1", consumesCounters: [{ counterSet: "c", counters: {} }] },
  ];
  assert.deepEqual(
    names(slice("x", { nodeName: undefined, perDeviceNodeSelection: true, devices })),
    ["here"],
  );
});
