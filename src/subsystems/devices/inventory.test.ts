import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs } from "../../kit/clock.ts";
import {
  arrive,
  canGive,
  countDevices,
  type Device,
  EMPTY_INVENTORY,
  expectAgain,
  expire,
  healthChanges,
  type Inventory,
  leave,
  listDevices,
  nextExpiry,
  STOP_GRACE_MS,
} from "./inventory.ts";

const GPU = "v.com/gpu";
const at = (ms: number) => ms as MonotonicMs;
const device = (id: string, healthy = true, nodes: readonly number[] = []): Device => ({
  id,
  healthy,
  nodes,
});
const count = (inventory: Inventory) => countDevices(inventory).get(GPU);

test("capacity is all devices, allocatable the healthy ones", () => {
  const listed = listDevices(arrive(EMPTY_INVENTORY, GPU, at(0)), GPU, [
    device("b"),
    device("a", false),
    device("c"),
  ]);
  assert.deepEqual(count(listed), { capacity: 3, allocatable: 2 });
  assert.deepEqual([...(listed.get(GPU)?.devices.keys() ?? [])], ["a", "b", "c"]);
});

test("a plugin that has not listed has nothing, its successor has what it had", () => {
  const fresh = arrive(EMPTY_INVENTORY, GPU, at(0));
  assert.deepEqual(count(fresh), { capacity: 0, allocatable: 0 });
  const again = arrive(listDevices(fresh, GPU, [device("a")]), GPU, at(5));
  assert.deepEqual(count(again), { capacity: 1, allocatable: 1 });
  assert.deepEqual(again.get(GPU)?.presence, { kind: "here", since: 5, list: "carried" });
  const record = fresh.get(GPU);
  assert.equal(record && canGive(record), false);
});

test("a plugin that leaves keeps its capacity for five minutes and gives nothing", () => {
  const gone = leave(
    listDevices(arrive(EMPTY_INVENTORY, GPU, at(0)), GPU, [device("a")]),
    GPU,
    at(1000),
  );
  assert.deepEqual(count(gone), { capacity: 1, allocatable: 0 });
  assert.equal(nextExpiry(gone), 1000 + STOP_GRACE_MS);
  assert.equal(expire(gone, at(999 + STOP_GRACE_MS)), gone);
  assert.deepEqual(expire(gone, at(1000 + STOP_GRACE_MS)), EMPTY_INVENTORY);
});

test("a plugin that comes back within the grace stays, and what it had waits for its list", () => {
  const gone = leave(
    listDevices(arrive(EMPTY_INVENTORY, GPU, at(0)), GPU, [device("a")]),
    GPU,
    at(1000),
  );
  const back = arrive(gone, GPU, at(2000));
  assert.deepEqual(count(back), { capacity: 1, allocatable: 0 });
  assert.equal(nextExpiry(back), undefined);
});

test("what is expected again is known with nothing, until its time is over", () => {
  const expected = expectAgain(EMPTY_INVENTORY, [GPU], at(10));
  assert.deepEqual(count(expected), { capacity: 0, allocatable: 0 });
  const here = arrive(expected, GPU, at(20));
  assert.equal(expectAgain(here, [GPU], at(30)).get(GPU), here.get(GPU));
});

test("a listDevices of a plugin that is gone, or that is unchanged, changes nothing", () => {
  const listed = listDevices(arrive(EMPTY_INVENTORY, GPU, at(0)), GPU, [
    device("a", true, [0, 1]),
    device("b"),
  ]);
  assert.equal(listDevices(listed, GPU, [device("b"), device("a", true, [0, 1])]), listed);
  assert.notEqual(listDevices(listed, GPU, [device("b"), device("a", true, [0])]), listed);
  assert.notEqual(listDevices(listed, GPU, [device("b")]), listed);
  const gone = leave(listed, GPU, at(1));
  assert.equal(listDevices(gone, GPU, []), gone);
  assert.equal(leave(gone, GPU, at(2)), gone);
});

test("healthChanges names devices whose shown health changed; unlisted ones count as healthy", () => {
  const first = listDevices(arrive(EMPTY_INVENTORY, GPU, at(0)), GPU, [
    device("a"),
    device("b", false),
    device("c", false),
  ]);
  const second = listDevices(first, GPU, [device("a", false), device("b"), device("d", false)]);
  assert.deepEqual(healthChanges(first.get(GPU), second.get(GPU)).toSorted(), ["a", "b", "c", "d"]);
  assert.deepEqual(healthChanges(first.get(GPU), leave(first, GPU, at(1)).get(GPU)), []);
  assert.deepEqual(healthChanges(undefined, first.get(GPU)).toSorted(), ["b", "c"]);
});
