import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KEEP_NOTHING } from "./keep-rules.ts";
import {
  bytesToReach,
  type GcGoal,
  type GcImage,
  type GcPolicy,
  type GcSnapshot,
  imageValue,
  planGc,
  usagePercentOf,
} from "./plan-gc.ts";

const POLICY: GcPolicy = {
  highPercent: 85,
  lowPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
  order: "leastRecentlyUsed",
  keep: KEEP_NOTHING,
};

const NOW = 10_000_000;

function image(id: string, more: Partial<GcImage> = {}): GcImage {
  return {
    id,
    tags: [`example.com/${id}:1`],
    digests: [],
    sizeBytes: 100,
    pinned: false,
    firstDetectedMs: 0,
    lastUsedMs: 0,
    usedBy: [],
    heldFor: [],
    neededBy: [],
    labels: {},
    requested: undefined,
    ...more,
  };
}

function snapshot(images: readonly GcImage[], more: Partial<GcSnapshot> = {}): GcSnapshot {
  return { atMs: NOW, watchedMs: NOW, images, unreachable: new Set(), ...more };
}

const deleted = (images: readonly GcImage[], goal: GcGoal, policy: Partial<GcPolicy> = {}) =>
  planGc(snapshot(images), { ...POLICY, ...policy }, goal).deletions.map((one) => one.image.id);

const ruleOf = (images: readonly GcImage[], more: Partial<GcSnapshot> = {}, policy = POLICY) =>
  planGc(snapshot(images, more), policy, { kind: "unused" }).kept.map(({ rule }) => rule);

for (const [capacityBytes, availableBytes, usage, toFree] of [
  [1000, 100, 90, 100],
  [1023, 154, 85, 50],
  [1000, 151, 85, 49],
  [1000, 1000, 0, -800],
  [1000, 2000, 0, -1800],
] as const)
  test(`\`planGc\` counts as the Go kubelet: ${availableBytes} of ${capacityBytes} free`, () => {
    assert.equal(usagePercentOf({ capacityBytes, availableBytes }), usage);
    assert.equal(bytesToReach(80, { capacityBytes, availableBytes }), toFree);
  });

test("`planGc` starts at the high threshold and frees down to the low one", () => {
  const images = [image("a"), image("b")];
  const at = (availableBytes: number) =>
    planGc(snapshot(images, { disk: { capacityBytes: 1000, availableBytes } }), POLICY, {
      kind: "periodic",
    });
  assert.deepEqual([at(160).usagePercent, at(160).toFreeBytes], [84, 0]);
  assert.deepEqual([at(159).usagePercent, at(159).toFreeBytes], [85, 41]);
  assert.equal(at(160).deletions.length, 0);
  assert.equal(at(159).deletions.length, 1);
});

test("`planGc` deletes by last use, then by when it was first seen, and stops when enough is freed", () => {
  const images = [
    image("a", { firstDetectedMs: 10, sizeBytes: 50 }),
    image("b", { firstDetectedMs: 5, sizeBytes: 30 }),
    image("c", { firstDetectedMs: 1, lastUsedMs: 20 }),
    image("d", { pinned: true }),
    image("e", { usedBy: ["default/web (c)"] }),
  ];
  const plan = planGc(snapshot(images), POLICY, { kind: "free", bytes: 60 });
  assert.deepEqual(
    plan.deletions.map((one) => one.image.id),
    ["b", "a"],
  );
  assert.deepEqual(
    plan.reserve.map(({ id }) => id),
    ["c"],
  );
  assert.equal(plan.freesBytes, 80);
});

test("`planGc` protects an image until its minimum age, and no longer", () => {
  const young = image("a", { firstDetectedMs: NOW - 119_999 });
  const old = image("b", { firstDetectedMs: NOW - 120_000 });
  assert.deepEqual(deleted([young, old], { kind: "unused" }), ["b"]);
  assert.deepEqual(ruleOf([young]), ["too young"]);
});

test("`planGc` names the rule that protects, in the order of the rules", () => {
  const keep = { ...KEEP_NOTHING, names: ["example.com/name*"], wantedWithinMs: 1000 };
  const policy = { ...POLICY, keep };
  const cases: readonly (readonly [GcImage, string])[] = [
    [image("x", { pinned: true, usedBy: ["u"] }), "pinned"],
    [image("x", { usedBy: ["u"], heldFor: ["h"] }), "in use"],
    [image("x", { heldFor: ["h"], neededBy: ["p"] }), "held"],
    [image("name1", { neededBy: ["p"] }), "needed by a pod"],
    [image("name1"), "kept by name"],
    [image("x", { requested: { atMs: NOW - 999, pod: "default/p" } }), "wanted lately"],
    [image("x", { lastUsedMs: NOW }), "used since the listing"],
    [image("x", { firstDetectedMs: NOW }), "too young"],
  ];
  for (const [given, rule] of cases) assert.deepEqual(ruleOf([given], {}, policy), [rule]);
  const lately = image("x", { requested: { atMs: NOW - 1000, pod: "default/p" } });
  assert.deepEqual(ruleOf([lately], {}, policy), []);
});

test("`planGc` keeps by label, and what could not be pulled again", () => {
  const selector = [{ key: "team", operator: "in", values: ["infra"] }] as const;
  const labels = { ...POLICY, keep: { ...KEEP_NOTHING, labels: [selector] } };
  assert.deepEqual(ruleOf([image("x", { labels: { team: "infra" } })], {}, labels), [
    "kept by label",
  ]);
  const away = { ...POLICY, keep: { ...KEEP_NOTHING, unreachableRegistries: true } };
  const unreachable = new Set(["example.com"]);
  assert.deepEqual(ruleOf([image("x")], { unreachable }, away), ["registry unreachable"]);
  assert.deepEqual(ruleOf([image("x")], {}, away), []);
  assert.deepEqual(ruleOf([image("x", { tags: [] })], {}, away), ["registry unreachable"]);
});

test("`planGc` removes for age what was idle for longer, once the agent has run for a while", () => {
  const policy = { ...POLICY, maxAgeMs: 1_000_000 };
  const images = [
    image("old", { firstDetectedMs: 1, lastUsedMs: NOW - 1_000_001 }),
    image("fresh", { firstDetectedMs: NOW - 1_000_000 }),
    image("used", { lastUsedMs: NOW - 1_000_000 }),
  ];
  const plan = (watchedMs: number) =>
    planGc(snapshot(images, { watchedMs }), policy, { kind: "periodic" }).deletions;
  assert.deepEqual(
    plan(600_001).map(({ image: { id }, rule }) => [id, rule]),
    [["old", "age"]],
  );
  assert.deepEqual(plan(600_000), []);
});

test("`planGc` counts images removed for age before it applies the thresholds", () => {
  const policy = { ...POLICY, maxAgeMs: 1_000_000 };
  const images = [image("old", { sizeBytes: 60 }), image("b", { lastUsedMs: NOW - 10 })];
  const disk = { capacityBytes: 1000, availableBytes: 140 };
  const plan = planGc(snapshot(images, { disk }), policy, { kind: "periodic" });
  assert.deepEqual(
    plan.deletions.map((one) => one.rule),
    ["age"],
  );
});

test("`planGc` by value takes what is big, idle and quickly pulled before what is dear", () => {
  const dear = image("dear", { sizeBytes: 100, pullMs: 60_000, lastUsedMs: 1 });
  const cheap = image("cheap", { sizeBytes: 1_000_000, pullMs: 1_000, lastUsedMs: 2 });
  assert.ok(imageValue(cheap, NOW) < imageValue(dear, NOW));
  assert.deepEqual(deleted([dear, cheap], { kind: "unused" }, { order: "value" }), [
    "cheap",
    "dear",
  ]);
  assert.deepEqual(deleted([dear, cheap], { kind: "unused" }), ["dear", "cheap"]);
});

const images = fc.uniqueArray(
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 4 }),
    sizeBytes: fc.integer({ min: 0, max: 1000 }),
    firstDetectedMs: fc.integer({ min: 0, max: NOW }),
    lastUsedMs: fc.integer({ min: 0, max: NOW }),
    pinned: fc.boolean(),
    used: fc.boolean(),
    held: fc.boolean(),
  }),
  { selector: ({ id }) => id, maxLength: 30 },
);

test("`planGc` never takes what is protected, takes enough or all that may go, and no image twice", () => {
  fc.assert(
    fc.property(
      images,
      fc.integer({ min: 0, max: 5000 }),
      fc.constantFrom("leastRecentlyUsed" as const, "value" as const),
      (given, bytes, order) => {
        const all = given.map(({ used, held, ...one }) =>
          image(one.id, { ...one, usedBy: used ? ["u"] : [], heldFor: held ? ["h"] : [] }),
        );
        const plan = planGc(snapshot(all), { ...POLICY, order }, { kind: "free", bytes });
        const going = plan.deletions.map((one) => one.image);
        for (const one of going) {
          assert.ok(!one.pinned && one.usedBy.length === 0 && one.heldFor.length === 0);
          assert.ok(NOW - one.firstDetectedMs >= POLICY.minAgeMs && one.lastUsedMs < NOW);
        }
        const last = going.at(-1)?.sizeBytes ?? 0;
        assert.ok(plan.freesBytes - last < bytes || going.length === 0);
        assert.ok(plan.freesBytes >= bytes || plan.reserve.length === 0);
        const ids = [...going, ...plan.kept.map((one) => one.image)].map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length);
        assert.equal(ids.length, all.length);
      },
    ),
  );
});
