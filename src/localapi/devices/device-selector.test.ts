import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device } from "../../api/generated/types.ts";
import { parseSelector, selectorFault } from "./device-selector.ts";

const DRIVER = "gpu.example.com";
const DEVICE: Device = {
  name: "gpu-0",
  attributes: {
    model: { string: "a100" },
    index: { int: 3 },
    fast: { bool: true },
    "other.com/driverVersion": { version: "1.2.3" },
  },
  capacity: { memory: { value: "40Gi" } },
};

/** Expressions with what they say of the device. */
const CASES: readonly (readonly [string, boolean])[] = [
  ['device.driver == "gpu.example.com"', true],
  ['device.driver == "nic.example.com"', false],
  ['device.attributes["gpu.example.com"].model == "a100"', true],
  ['device.attributes["gpu.example.com"].model in ["h100", "a100"]', true],
  ['device.attributes["gpu.example.com"].model.startsWith("h")', false],
  ['device.attributes["gpu.example.com"].index > 2', true],
  ['device.attributes["gpu.example.com"].fast', true],
  ['"model" in device.attributes["gpu.example.com"]', true],
  ['"model" in device.attributes["unheard.of"]', false],
  ["has(device.driver)", true],
  ['device.attributes["gpu.example.com"].?colour.orValue("red") == "red"', true],
  ['device.attributes["other.com"].driverVersion.isGreaterThan(semver("1.2.0"))', true],
  ['device.attributes["other.com"].driverVersion.isLessThan(semver("1.2.3-rc.1"))', false],
  ['device.attributes["other.com"].driverVersion.compareTo(semver("1.10.0")) < 0', true],
  ['device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', true],
  ['device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("48Gi"))', false],
  ['cel.bind(d, device.attributes["gpu.example.com"], d.model == "a100" && d.index == 3)', true],
  ["device.allowMultipleAllocations", false],
];

for (const [expression, wanted] of CASES)
  test(`a selector: ${expression}`, () => {
    assert.equal(parseSelector(expression)(DEVICE, DRIVER), wanted);
  });

test("selectors that are no good are refused when they are written", () => {
  assert.equal(selectorFault("true"), undefined);
  assert.match(selectorFault("1 +") ?? "", /./);
  assert.match(selectorFault("1 + 1") ?? "", /must evaluate to bool, not to int/);
  assert.match(selectorFault("unheard.of") ?? "", /unheard/);
  const has = 'has(device.attributes["gpu.example.com"].colour)';
  assert.match(selectorFault(has) ?? "", /write "model" in device.attributes/);
  assert.match(selectorFault('quantity("x") == 1') ?? "", /./);
  assert.match(selectorFault(`${"(".repeat(200)}true${")".repeat(200)}`) ?? "", /./);
});

test("what a device has not is an error, not a no", () => {
  const test = parseSelector('device.attributes["gpu.example.com"].colour == "red"');
  assert.throws(() => test(DEVICE, DRIVER), /No such key: colour/);
});
