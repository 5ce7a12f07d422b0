import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { PendingConnects } from "./pending-connects.ts";
import type { ConnectProgress } from "./system-sockets.ts";

const MANY = 1_000;
/** Longer than any connection is fresh. */
const LONG_MS = 500;

let nowMs = 0;
/** Checks of any connection so far. */
let checks = 0;
let pending: PendingConnects;
const open = new Map<number, ConnectProgress>();
let lastDescriptor = 0;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setImmediate"] });
  [nowMs, checks] = [0, 0];
  open.clear();
  const progress = (descriptor: number) => {
    checks += 1;
    const found = open.get(descriptor);
    assert.ok(found, "one that is closed was checked");
    return found;
  };
  pending = new PendingConnects({ progress }, () => nowMs);
});
afterEach(() => mock.timers.reset());

/** Begins one; `seenMs` is when it was seen to be connected. */
function connect() {
  lastDescriptor += 1;
  const descriptor = lastDescriptor;
  const answer = { descriptor, seenMs: undefined as number | undefined };
  open.set(descriptor, { kind: "pending" });
  const leave = pending.add(descriptor, () => {
    leave();
    open.delete(descriptor);
    answer.seenMs = nowMs;
  });
  const close = () => {
    leave();
    open.delete(descriptor);
  };
  return { answer, close, answers: () => open.set(descriptor, { kind: "connected" }) };
}

/** Lets time go by, in turns of a millisecond. */
function pass(ms: number, eachMs = () => {}): void {
  mock.timers.tick(0);
  for (let i = 0; i < ms; i += 1) {
    nowMs += 1;
    eachMs();
    mock.timers.tick(1);
  }
}

/** As many as a node has whose network is down, begun at different times. */
function beginMany(): void {
  for (let i = 0; i < MANY; i += 1) {
    connect();
    if (i % 10 === 0) pass(1);
  }
  pass(LONG_MS);
}

test("many that are pending are not checked more often because others are added", () => {
  beginMany();
  checks = 0;
  const beganMs = nowMs;
  pass(1_000, () => {
    if ((nowMs - beganMs) % 50 === 0) connect();
  });
  // Each 20 times a second.
  assert.ok(checks >= MANY * 19 && checks < 30_000, `${checks} checks`);
});

test("one among many is seen soon after it is connected, however many others are added", () => {
  beginMany();
  for (const afterMs of [0, 1, 2, 5, 10, 20, 40, 62, 63, 64, 100, 300]) {
    const { answer, answers } = connect();
    const beganMs = nowMs;
    const addOthers = () => {
      if (nowMs % 3 === 0) connect();
    };
    pass(afterMs, addOthers);
    answers();
    pass(60, addOthers);
    const lateMs = (answer.seenMs ?? Number.POSITIVE_INFINITY) - beganMs - afterMs;
    const mostMs = Math.min(afterMs + 1, 50);
    assert.ok(lateMs <= mostMs, `connected after ${afterMs} ms, seen ${lateMs} ms later`);
  }
});

test("one that connects in the turn in which it was begun is seen at the end of that turn", () => {
  const { answer, answers } = connect();
  answers();
  assert.equal(answer.seenMs, undefined);
  pass(0);
  assert.equal(answer.seenMs, 0);
});

test("one that was left is never checked again, and the next one is checked as ever", () => {
  const all = Array.from({ length: 100 }, () => connect());
  for (const [i, { close }] of all.entries()) {
    pass(i % 7);
    close();
  }
  checks = 0;
  pass(LONG_MS);
  assert.equal(checks, 0);
  const { answer, answers } = connect();
  pass(LONG_MS);
  answers();
  pass(50);
  assert.ok(answer.seenMs);
  assert.deepEqual(open.size, 0);
});
