import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSeededRandom } from "../../../kit/random.ts";
import {
  decidePlaces,
  knownToClose,
  LOOPBACK,
  type Peer,
  type PeerLimits,
  type PeerStage,
  type PeerVerdict,
  peerGroupOf,
} from "./peer-places.ts";

const COST = 10;
const LIMITS: PeerLimits = {
  bytes: 4 * COST,
  groupBytes: 3 * COST,
  loopbackBytes: 3 * COST,
  waiting: 4,
  waitMs: 1_000,
  turnMs: 100,
  readyMs: 20,
};
const NOW = 10_000;

/** `id group stage age [bytes]`, e.g. `1 a idle 50`. */
function peer(text: string): Peer {
  const [id, group = "", stage, age, bytes = COST] = text.split(" ");
  return {
    id: Number(id),
    group,
    stage: stage as PeerStage,
    sinceMs: NOW - Number(age),
    bytes: Number(bytes),
  };
}

interface Vector {
  readonly name: string;
  readonly peers: readonly string[];
  readonly admit?: readonly number[];
  readonly close?: Readonly<Record<number, string>>;
  /** From now on. */
  readonly again?: number;
}

const VECTORS: readonly Vector[] = [
  { name: "nobody", peers: [] },
  { name: "there are places", peers: ["1 a waiting 0"], admit: [1] },
  { name: "nobody waits: all stay", peers: ["1 a idle 999", "2 a arriving 999", "3 a asking 999"] },
  {
    name: "an address has all it may: its own oldest idle one gives way",
    peers: ["1 a idle 5", "2 a idle 9", "3 a asking 999", "4 a waiting 0"],
    admit: [4],
    close: { 2: "gives way" },
  },
  {
    name: "none is idle: the oldest whose turn is over gives way",
    peers: ["1 a arriving 150", "2 a arriving 250", "3 a asking 999", "4 a waiting 0"],
    admit: [4],
    close: { 2: "gives way" },
  },
  {
    name: "who says nothing after the handshake gives way before those in it, and sooner",
    peers: ["1 a arriving 150", "2 a ready 21", "3 a ready 30", "4 a waiting 0"],
    admit: [4],
    close: { 3: "gives way" },
  },
  {
    name: "who says nothing at all gives way as soon, and before those in the handshake",
    peers: ["1 a arriving 99", "2 a silent 21", "3 a silent 30", "4 a waiting 0"],
    admit: [4],
    close: { 3: "gives way" },
  },
  {
    name: "callers have time to begin",
    peers: ["1 a arriving 30", "2 a silent 19", "3 a silent 15", "4 a waiting 0"],
    again: 1,
  },
  {
    name: "callers have time for their request",
    peers: ["1 a ready 15", "2 a ready 19", "3 a arriving 30", "4 a waiting 0"],
    again: 1,
  },
  {
    name: "what is being answered gives way last",
    peers: ["1 a arriving 50", "2 a asking 250", "3 a arriving 99", "4 a waiting 0"],
    admit: [4],
    close: { 2: "gives way" },
  },
  {
    name: "no turn is over: it waits until one is",
    peers: ["1 a arriving 50", "2 a asking 20", "3 a arriving 70", "4 a waiting 0"],
    again: 30,
  },
  {
    name: "the address that has most gives way to another",
    peers: [
      "1 a arriving 200",
      "2 a arriving 300",
      "3 a asking 200",
      "4 b idle 500",
      "5 c waiting 0",
    ],
    admit: [5],
    close: { 2: "gives way" },
  },
  {
    name: "an address does not push out one that has no more than it would have",
    peers: ["1 a asking 200", "2 a asking 300", "3 b idle 500", "4 b idle 500", "5 a waiting 0"],
    admit: [5],
    close: { 2: "gives way" },
  },
  {
    name: "among equals one whose turn is over gives way",
    peers: ["1 a asking 200", "2 b asking 300", "3 c asking 9", "4 d asking 500", "5 e waiting 0"],
    admit: [5],
    close: { 4: "gives way" },
  },
  {
    name: "who has least comes first, of one address who came last",
    peers: ["1 a asking 1", "2 a asking 1", "3 a waiting 8", "4 b waiting 9", "5 b waiting 2"],
    admit: [5, 4],
    // Those that were let in have a moment to begin.
    again: 20,
  },
  {
    name: "too many wait: the first of the longest queue goes",
    peers: [
      ...["1 a asking 1", "2 a asking 1", "3 a asking 1"],
      ...["4 a waiting 9", "5 a waiting 8", "6 a waiting 7", "7 a waiting 6", "8 a waiting 5"],
    ],
    close: { 4: "too many connections are waiting" },
    again: 99,
  },
  {
    name: "nobody waits for ever",
    peers: ["1 a asking 1", "2 a asking 1", "3 a asking 1", "4 a waiting 1000", "5 a waiting 999"],
    close: { 4: "waited too long" },
    again: 1,
  },
  {
    name: "one that costs too much is closed, its turn over or not",
    peers: ["1 a asking 1 31"],
    close: { 1: "budget is used up" },
  },
  {
    name: "long headers cost others of the same address their place",
    peers: ["1 a idle 5", "2 a asking 1 25", "3 b idle 500 5"],
    close: { 1: "budget is used up" },
  },
  {
    name: "loopback has a limit of its own",
    peers: [`1 ${LOOPBACK} idle 9`, `2 ${LOOPBACK} waiting 9 25`],
    admit: [2],
    close: { 1: "gives way" },
  },
];

describe("decidePlaces", () => {
  for (const { name, peers, admit = [], close = {}, again } of VECTORS) {
    test(name, () => {
      const verdict = decidePlaces(peers.map(peer), LIMITS, NOW);
      assert.deepEqual(verdict.admit, admit);
      assert.deepEqual(Object.fromEntries(verdict.close.map(({ id, rule }) => [id, rule])), close);
      assert.equal(verdict.recheckAtMs, again === undefined ? undefined : NOW + again);
    });
  }

  test("random crowds: limits hold, nobody goes without need, and time or places let everybody in", () => {
    const random = createSeededRandom(13);
    const pick = <T>(list: readonly T[]) => list[Math.floor(random.next() * list.length)] as T;
    for (let round = 0; round < 3_000; round += 1) {
      const peers = Array.from(
        { length: Math.floor(random.next() * 14) },
        (_, id): Peer => ({
          id,
          group: pick(["a", "b", "c", "d", "e", LOOPBACK]),
          stage: pick(["waiting", "silent", "arriving", "ready", "asking", "idle"] as const),
          sinceMs: NOW - Math.floor(random.next() * 1_200),
          bytes: random.next() < 0.8 ? COST : Math.ceil(random.next() * 3 * COST),
        }),
      );
      checkVerdict(peers, decidePlaces(peers, LIMITS, NOW), `round ${round}`);
    }
  });
});

function checkVerdict(peers: readonly Peer[], verdict: PeerVerdict, shown: string): void {
  const closed = new Map(verdict.close.map(({ id, rule }) => [id, rule]));
  const admitted = new Set(verdict.admit);
  const isPlaced = (one: Peer) =>
    !closed.has(one.id) && (one.stage !== "waiting" || admitted.has(one.id));
  const sum = (some: readonly Peer[]) => some.reduce((bytes, one) => bytes + one.bytes, 0);
  const placed = peers.filter(isPlaced);
  const waiting = peers.filter((one) => !closed.has(one.id) && !isPlaced(one));
  assert.equal(closed.size, verdict.close.length, `${shown}: closed once`);
  assert.ok(sum(placed) <= LIMITS.bytes, `${shown}: budget`);
  for (const group of new Set(placed.map((one) => one.group)))
    assert.ok(sum(placed.filter((one) => one.group === group)) <= LIMITS.groupBytes, shown);
  assert.ok(waiting.length <= LIMITS.waiting, `${shown}: waiting`);
  for (const one of peers) {
    const rule = closed.get(one.id);
    if (rule === "gives way") {
      assert.notEqual(admitted.size, 0, `${shown}: ${one.id} gives way to nobody`);
      const { readyMs } = LIMITS;
      const short = { idle: 0, silent: readyMs, ready: readyMs };
      const turnMs = (short as Partial<Record<PeerStage, number>>)[one.stage] ?? LIMITS.turnMs;
      assert.ok(NOW - one.sinceMs >= turnMs, `${shown}: ${one.id} is in its turn`);
    }
    assert.ok(one.stage !== "waiting" || rule !== "gives way", `${shown}: has no place to give`);
  }
  // A waiting peer is either too large for what is left, or is checked again.
  if (waiting.length === 0) return;
  assert.ok(verdict.recheckAtMs !== undefined && verdict.recheckAtMs > NOW, `${shown}: again`);
}

test("groupOf: one address, one IPv6 network, this machine", () => {
  const table: readonly (readonly [string, string])[] = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["127.0.0.1", LOOPBACK],
    ["127.8.9.10", LOOPBACK],
    ["::1", LOOPBACK],
    ["::ffff:127.0.0.1", LOOPBACK],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
  ];
  for (const [address, group] of table) assert.equal(peerGroupOf(address), group, address);
});

test("knownToClose: the one idle for longest, else the newest, and nobody while there are places", () => {
  const known = (...idle: (number | undefined)[]) =>
    idle.map((idleSinceMs, id) => ({ id, idleSinceMs }));
  assert.equal(knownToClose(known(5, 3), 2, 1), undefined);
  assert.equal(knownToClose(known(5, 3, 4), 2, 2), 1);
  assert.equal(knownToClose(known(5, undefined, 4), 2, 2), 0);
  assert.equal(knownToClose(known(undefined, undefined, 4), 2, 2), 2);
});
