import assert from "node:assert/strict";
import { test } from "node:test";
import { servicesOf } from "./driver-services.ts";

const V1 = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin";
const V1BETA1 = "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin";
const WHOSE = "invalid supported gRPC versions of DRA driver plugin d at endpoint /s";

const choose = (...versions: readonly string[]) =>
  servicesOf({ name: "d", socketPath: "/s", versions });

for (const [name, versions, plugin, health] of [
  ["11", ["v1.DRAPlugin", "v1beta1.DRAPlugin"], V1, undefined],
  ["12: the driver's order", ["v1beta1.DRAPlugin", "v1.DRAPlugin"], V1BETA1, undefined],
  [
    "13",
    ["v1alpha1.DRAResourceHealth", "v1beta1.DRAPlugin"],
    V1BETA1,
    "v1alpha1.DRAResourceHealth",
  ],
  [
    "health by the newest version",
    ["v1.DRAPlugin", "v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth"],
    V1,
    "v1.DRAResourceHealth",
  ],
] as const)
  test(`servicesOf, vector ${name}: ${versions.join(" ")}`, () => {
    assert.deepEqual(choose(...versions), { plugin, health });
  });

for (const [name, versions, text] of [
  ["14", [], `${WHOSE}: empty list of supported gRPC services (aka supported versions)`],
  [
    "15",
    ["v1alpha4.DRAPlugin", "1.0.0"],
    `${WHOSE}: none of services supported by the plugin (["v1alpha4.DRAPlugin" "1.0.0"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])`,
  ],
] as const)
  test(`servicesOf, vector ${name}: refuses ${JSON.stringify(versions)}`, () => {
    assert.throws(() => choose(...versions), { message: text });
  });
