import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import type { ConnectAnswer } from "../../../outside/net/net.ts";
import { type ConnectRequest, SharedConnects } from "./shared-connects.ts";

const CONNECTED: ConnectAnswer = { kind: "connected" };
const REQUEST: ConnectRequest = { containerId: "c1", host: "10.0.0.1", port: 80, timeoutMs: 1000 };
const never = new AbortController().signal;

/** Connects that are answered by the test, in the order in which they began. */
function scripted() {
  const clock = new SimClock();
  const begun: { resolve(answer: ConnectAnswer): void; reject(error: unknown): void }[] = [];
  const tcpConnect = (_host: string, _port: number, _timeoutMs: number, signal: AbortSignal) =>
    new Promise<ConnectAnswer>((resolve, reject) => {
      begun.push({ resolve, reject });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const shared = new SharedConnects({ tcpConnect }, clock);
  const connect = async (...args: Parameters<typeof shared.connect>) =>
    await shared.connect(...args);
  return { clock, begun, connects: { connect } };
}

test("SharedConnects lets equal requests of one moment share a connect", async () => {
  const { begun, connects } = scripted();
  const both = [connects.connect(REQUEST, never), connects.connect(REQUEST, never)];
  assert.equal(begun.length, 1);
  begun[0]?.resolve(CONNECTED);
  assert.deepEqual(await Promise.all(both), [CONNECTED, CONNECTED]);
  void connects.connect(REQUEST, never);
  assert.equal(begun.length, 2, "what is over is not shared");
});

test("SharedConnects keeps requests apart that differ in anything", () => {
  const differing: Partial<ConnectRequest>[] = [
    { containerId: "c2" },
    { host: "10.0.0.2" },
    { port: 81 },
    { timeoutMs: 2000 },
  ];
  for (const more of differing) {
    const { begun, connects } = scripted();
    void connects.connect(REQUEST, never);
    void connects.connect({ ...REQUEST, ...more }, never);
    assert.equal(begun.length, 2, JSON.stringify(more));
  }
});

test("SharedConnects shares no connect whose time would run out much sooner", async () => {
  const { clock, begun, connects } = scripted();
  void connects.connect(REQUEST, never);
  await clock.advance(25);
  void connects.connect(REQUEST, never);
  assert.equal(begun.length, 1);
  await clock.advance(1);
  const late = connects.connect(REQUEST, never);
  assert.equal(begun.length, 2);
  const joined = connects.connect(REQUEST, never);
  begun[0]?.resolve({ kind: "timeout", message: "i/o timeout" });
  await clock.advance(1);
  void connects.connect(REQUEST, never);
  assert.equal(begun.length, 2, "the end of the first one does not end the second");
  begun[1]?.resolve(CONNECTED);
  assert.deepEqual(await Promise.all([late, joined]), [CONNECTED, CONNECTED]);
});

test("SharedConnects connects again for a probe whose connect was another's that is stopped", async () => {
  const { begun, connects } = scripted();
  const stopped = new AbortController();
  const first = connects.connect(REQUEST, stopped.signal);
  const second = connects.connect(REQUEST, never);
  const third = connects.connect(REQUEST, never);
  stopped.abort(new Error("enough"));
  await assert.rejects(first, /enough/);
  await new Promise(setImmediate);
  assert.equal(begun.length, 2, "the two that are left share one again");
  begun[1]?.resolve(CONNECTED);
  assert.deepEqual(await Promise.all([second, third]), [CONNECTED, CONNECTED]);
});

test("SharedConnects passes on errors, and does not begin for who has left", async () => {
  const { begun, connects } = scripted();
  const both = [connects.connect(REQUEST, never), connects.connect(REQUEST, never)];
  begun[0]?.reject(new Error("no descriptors"));
  for (const one of both) await assert.rejects(one, /no descriptors/);
  const gone = AbortSignal.abort(new Error("left"));
  await assert.rejects(connects.connect(REQUEST, gone), /left/);
  assert.equal(begun.length, 1);
});

test("SharedConnects shares an answer that is known at once with requests of the same turn", async () => {
  let begun = 0;
  const tcpConnect = () => {
    begun += 1;
    return CONNECTED;
  };
  const connects = new SharedConnects({ tcpConnect }, new SimClock());
  assert.equal(connects.connect(REQUEST, never), CONNECTED);
  assert.equal(connects.connect(REQUEST, never), CONNECTED);
  assert.equal(begun, 1);
  await new Promise(setImmediate);
  assert.equal(connects.connect(REQUEST, never), CONNECTED);
  assert.equal(begun, 2, "not with later ones");
});
