// Health checks amid connections that say nothing: a supervisor that gets no answer within a second or two ends the agent.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createListen } from "../../src/outside/net/serve/http-listener.ts";
import type { HttpListener, ListenOptions } from "../../src/outside/net/serve/listen.ts";
import { OwnTurns } from "../../src/outside/net/serve/own-turn.ts";
import { ask, LIMITS } from "./http.ts";

const IDLE = 300;
/** A tenth of a second, but for a busy machine; without a share of their own it was three seconds and more. */
const ANSWER_MS = 1_500;
/** Of so many requests one after the other the one in the middle counts: a busy machine makes any of them late. */
const ASKED = 3;

/** How long a request takes. */
async function answerMs(port: number): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < ASKED; i += 1) {
    const began = performance.now();
    assert.equal((await ask({ port, path: "/healthz" })).status, 200);
    took.push(performance.now() - began);
  }
  return took.toSorted((a, b) => a - b)[Math.floor(ASKED / 2)] ?? 0;
}

/** A port for health checks and another one, as of one agent. */
async function twoPorts() {
  const listen = createListen();
  const open = (more: Partial<ListenOptions>) =>
    listen({
      address: { kind: "tcp", host: "127.0.0.1", port: 0 },
      limits: LIMITS,
      mayUpgrade: () => false,
      onExchange: (exchange) => exchange.reply(200, {}, "ok"),
      onProblem: () => {},
      ...more,
    });
  return { health: await open({ forHealthChecks: true }), other: await open({}) };
}

const portOf = ({ address }: HttpListener) => (address.kind === "tcp" ? address.port : 0);

/** Connections that send nothing, or the beginning of a request. */
async function crowd(port: number, text: string): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: IDLE }, () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    if (text !== "") socket.write(text);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  // So that the listener has met them all.
  await sleep(50);
  return sockets;
}

for (const [what, where, text] of [
  ["the port for health checks itself", "health", ""],
  ["another port", "other", ""],
  ["another port, with requests that were begun", "other", "GET / HTTP/1.1\r\nhost: a\r\nx: "],
] as const)
  test(`health checks are answered amid ${IDLE} idle connections from loopback to ${what}`, async () => {
    const ports = await twoPorts();
    await using _health = ports.health;
    await using _other = ports.other;
    const sockets = await crowd(portOf(ports[where]), text);
    try {
      const tookMs = await answerMs(portOf(ports.health));
      assert.ok(tookMs < ANSWER_MS, `it took ${tookMs} ms`);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

test("connections that say nothing give way to requests on any port within a moment", async () => {
  const { health, other } = await twoPorts();
  await using _health = health;
  await using _other = other;
  const sockets = await crowd(portOf(other), "");
  try {
    const tookMs = await answerMs(portOf(other));
    assert.ok(tookMs < ANSWER_MS, `it took ${tookMs} ms`);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("OwnTurns: urgent work runs before all other work that waits", async () => {
  const turns = new OwnTurns();
  const order: string[] = [];
  const turn = async (name: string, isUrgent: boolean) => {
    await turns.next(isUrgent);
    order.push(name);
  };
  await Promise.all([
    turn("a", false),
    turn("b", false),
    turn("check", true),
    turn("c", false),
    turn("another check", true),
  ]);
  assert.deepEqual(order, ["check", "another check", "a", "b", "c"]);
});
