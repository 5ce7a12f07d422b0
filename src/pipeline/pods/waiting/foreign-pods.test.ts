import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import type { FoundPod, ObservedPod, PodUid } from "../../../api/observation.ts";
import { identifyPod } from "../../../api/pod-identity.ts";
import type { PodOwner } from "../../../api/pod-owner.ts";
import { silentLog } from "../../../kit/log.ts";
import { TaskScope } from "../../../kit/scope.ts";
import { ForeignPods } from "./foreign-pods.ts";

const GONE_MS = 60_000;

function found(uid: string, sandboxes = 1): ObservedPod {
  const sandbox = { id: `s-${uid}` } as ObservedPod["observed"]["sandboxes"][number];
  return {
    kind: "observed",
    uid: uid as PodUid,
    describe: () => identifyPod({ metadata: { name: uid } }),
    observed: {
      asOf: 0 as ObservedPod["observed"]["asOf"],
      sandboxes: Array.from({ length: sandboxes }, () => sandbox),
      containers: [],
    },
  };
}

/** A world in which `owners` says whose pods are, and in which the pods module knows what it was given. */
function world(owners: Map<string, PodOwner>) {
  const clock = new SimClock();
  const given: string[] = [];
  const foreign = new ForeignPods({
    clock,
    log: silentLog,
    pods: {
      knows: (uid) => given.includes(uid),
      found: (pods: readonly FoundPod[]) => given.push(...pods.map(({ uid }) => uid)),
    },
    ownersOf: async (uids) => new Map([...owners].filter(([uid]) => uids.includes(uid as PodUid))),
    goneMs: GONE_MS,
  });
  return { clock, given, foreign, scope: new TaskScope("test", { clock, log: silentLog }) };
}

const ROWS: readonly (readonly [string, PodOwner | undefined, boolean])[] = [
  ["nobody else's", undefined, true],
  ["a running agent's", { kind: "running", root: "/b" }, false],
  ["a pod whose owner cannot be found out", { kind: "unknown" }, false],
  ["an agent's that has just gone", { kind: "gone", root: "/b", forMs: 0 }, false],
  [
    "one's that is gone for almost the time",
    { kind: "gone", root: "/b", forMs: GONE_MS - 1 },
    false,
  ],
  ["one's that does not come back", { kind: "gone", root: "/b", forMs: GONE_MS }, true],
];

for (const [what, owner, isHandedOver] of ROWS)
  test(`ForeignPods: ${what} is ${isHandedOver ? "" : "not "}handed over`, async () => {
    const { foreign, given } = world(new Map(owner ? [["a", owner]] : []));
    foreign.take([found("a")]);
    assert.deepEqual(given, [], "not before it is known whose it is");
    await foreign.judge();
    assert.deepEqual(given, isHandedOver ? ["a"] : []);
  });

test("ForeignPods: a pod that a source names is handed over at once", async () => {
  const { foreign, given } = world(new Map([["a", { kind: "running", root: "/b" }]]));
  foreign.take([found("a")]);
  await foreign.judge();
  foreign.claim("a" as PodUid);
  foreign.claim("a" as PodUid);
  assert.deepEqual(given, ["a"]);
  foreign.take([found("a")]);
  assert.deepEqual(given, ["a", "a"], "and from then on all that is found of it");
});

test("ForeignPods: a pod that has vanished is reported as such, and forgotten", async () => {
  const { foreign, given } = world(new Map([["a", { kind: "running", root: "/b" }]]));
  foreign.take([found("a")]);
  foreign.take([found("a", 0)]);
  assert.deepEqual(given, ["a"]);
  foreign.claim("a" as PodUid);
  assert.deepEqual(given, ["a"]);
});

test("ForeignPods: owners are determined again; the pods of one that ends are handed over after its time", async () => {
  const owners = new Map<string, PodOwner>([["a", { kind: "running", root: "/b" }]]);
  const { foreign, given, clock, scope } = world(owners);
  foreign.follow(scope);
  foreign.take([found("a")]);
  await clock.advance(600_000);
  assert.deepEqual(given, []);
  owners.set("a", { kind: "gone", root: "/b", forMs: GONE_MS });
  await clock.advance(20_000);
  assert.deepEqual(given, ["a"]);
  await scope[Symbol.asyncDispose]();
});

test("ForeignPods: where there are no other agents, all are handed over at once", () => {
  const given: string[] = [];
  const foreign = new ForeignPods({
    clock: new SimClock(),
    log: silentLog,
    pods: { knows: () => false, found: (pods) => given.push(...pods.map(({ uid }) => uid)) },
    goneMs: GONE_MS,
  });
  foreign.take([found("a"), found("b")]);
  assert.deepEqual(given, ["a", "b"]);
});
