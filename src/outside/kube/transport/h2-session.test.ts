// Connections of the API client: how many, how long, and what becomes of their streams.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerHttp2Stream } from "node:http2";
import { afterEach, beforeEach, test } from "node:test";
import { TEST_CERTIFICATE } from "../../../../test/probes/certificate.ts";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import {
  ApiWorld,
  apiGet as get,
  failsWith as isOutside,
  linesOf,
  NO_ABORT as NEVER,
  type ScriptedPeer,
  SERVER_FRAMES,
  ENDLESS as watch,
} from "../../../../test/support/h2-api-server.ts";
import { Cell } from "../../../kit/cell.ts";
import { createSystemClock } from "../../../kit/clock.ts";
import { within } from "../../../kit/within.ts";
import { FLAG, FRAME, frame } from "../../http2/frames.ts";
import type { ApiTransport, ApiWatchReply, ClientIdentity } from "./transport.ts";

const { headers, data, goAway, reset } = SERVER_FRAMES;

const SYSTEM_CLOCK = createSystemClock();

let world: ApiWorld;
beforeEach(() => {
  world = new ApiWorld();
});
afterEach(() => world[Symbol.dispose]());

/** The client has taken what it was sent before. */
async function roundTrip(peer: ScriptedPeer): Promise<void> {
  peer.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  await peer.next(FRAME.ping);
}

/** What has to come within a moment. */
function soon<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within({ clock: SYSTEM_CLOCK, ms: 5_000, message: `no ${what}` }, NEVER, work);
}

/** The client sends a PING and has an answer. */
async function pong(peer: ScriptedPeer): Promise<void> {
  const { payload } = await soon("PING", () => peer.next(FRAME.ping));
  peer.send(frame(FRAME.ping, FLAG.ack, 0, payload));
  await roundTrip(peer);
}

interface Scripted {
  readonly transport: ApiTransport;
  readonly peers: ScriptedPeer[];
}

/** A client of a server that says what the test writes, with its connections. */
async function scripted(clock: SimClock): Promise<Scripted> {
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => void peers.push(peer));
  return { transport: world.connect(port, { clock }), peers };
}

/** The connection with this number, as soon as it is there. */
function peerAt(peers: readonly ScriptedPeer[], index: number): Promise<ScriptedPeer> {
  return soon(`connection ${index}`, async (signal) => {
    for (;;) {
      const peer = peers[index];
      if (peer) return peer;
      await SYSTEM_CLOCK.sleep(5, signal);
    }
  });
}

/** A watch on stream 1 of the first connection, of which the client has read all. */
async function opened(transport: ApiTransport, peers: ScriptedPeer[]): Promise<ApiWatchReply> {
  const reply = transport.watch({ ...watch, lifetimeMs: 500_000 }, NEVER);
  const peer = await peerAt(peers, 0);
  peer.send(headers((await peer.next(FRAME.headers)).streamId));
  await roundTrip(peer);
  return await reply;
}

/** A request has no answer for 10 s. */
async function fails(transport: ApiTransport): Promise<void> {
  const asked = transport.request({ ...get("/"), timeoutMs: 10_000 }, NEVER);
  await assert.rejects(asked, isOutside("deadline"));
}

/** The same, while that time passes; what the client has to say of it has come. */
async function runOut(transport: ApiTransport, peer: ScriptedPeer, clock: SimClock): Promise<void> {
  const failed = fails(transport);
  await peer.next(FRAME.headers);
  await clock.advance(10_000);
  await failed;
  await peer.next(FRAME.rstStream);
}

/** Whether the client has sent a PING. */
async function hasPinged(transport: ApiTransport, peer: ScriptedPeer): Promise<boolean> {
  const leave = new AbortController();
  const left = assert.rejects(transport.request(get("/"), leave.signal), /enough/);
  // What is sent now comes after a PING that was sent before.
  await peer.next(FRAME.headers);
  leave.abort(new Error("enough"));
  await left;
  return peer.has(FRAME.ping);
}

test("more requests than one connection takes use several", async () => {
  const REQUESTS = 250;
  let sessions = 0;
  const open = new Set<ServerHttp2Stream>();
  const answer = (stream: ServerHttp2Stream) => {
    stream.respond({ ":status": 200 });
    stream.end("x");
  };
  const port = await world.serve(
    (stream, fields) => {
      if (fields[":path"] === "/prefix/first") return answer(stream);
      open.add(stream);
      // None is answered before all have come, so none waits for the end of another.
      if (open.size === REQUESTS) for (const each of open) answer(each);
    },
    (server) => server.on("session", () => (sessions += 1)),
  );
  const transport = world.connect(port);
  await transport.request(get("/first"), NEVER);
  const requests = Array.from({ length: REQUESTS }, () => transport.request(get("/"), NEVER));
  await Promise.all(requests);
  assert.ok(sessions >= 3, `${sessions} sessions`);
});

test("requests that the server has not taken are sent again, whatever their method", async () => {
  const seen: string[] = [];
  const port = await world.script((peer) => {
    const connection = seen.push("connection");
    const answer = async () => {
      for (;;) {
        const { streamId } = await peer.next(FRAME.headers);
        seen.push(`stream ${streamId}`);
        if (connection === 1 && streamId === 1) peer.send(reset(streamId, 7));
        else if (connection === 1) peer.send(goAway(1));
        else peer.send(headers(streamId, {}, 5));
      }
    };
    void answer();
  });
  const post = { ...get("/"), method: "POST", body: "{}" } as const;
  assert.equal((await world.connect(port).request(post, NEVER)).status, 200);
  assert.deepEqual(seen, ["connection", "stream 1", "stream 3", "connection", "stream 1"]);
});

test("after GOAWAY a request goes on where it is, and the connection is closed after it", async () => {
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => void peers.push(peer));
  const transport = world.connect(port);
  const first = transport.request(get("/first"), NEVER);
  while (peers.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const [peer] = peers;
  assert.ok(peer);
  const { streamId } = await peer.next(FRAME.headers);
  peer.send(goAway(streamId), frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  await peer.next(FRAME.ping);
  const second = transport.request(get("/second"), NEVER);
  while (peers.length === 1) await new Promise((resolve) => setTimeout(resolve, 5));
  const other = peers[1] as ScriptedPeer;
  other.send(headers((await other.next(FRAME.headers)).streamId, {}, 5));
  assert.equal((await second).status, 200);
  peer.send(headers(streamId), data(streamId, "late", true));
  assert.equal((await first).body, "late");
  await peer.closed;
});

test("a quiet connection is asked for a sign of life, and given up without one", async () => {
  const clock = new SimClock();
  const { transport, peers } = await scripted(clock);
  const asked = transport.request(
    { ...get("/"), method: "POST", body: "{}", timeoutMs: 500_000 },
    NEVER,
  );
  const rejected = assert.rejects(asked, isOutside("unavailable", /does not respond/));
  const peer = await peerAt(peers, 0);
  await peer.next(FRAME.headers);
  await roundTrip(peer);
  await clock.advance(30_000);
  await pong(peer);
  await clock.advance(30_000);
  await peer.next(FRAME.ping);
  await clock.advance(15_000);
  await rejected;
  await peer.closed;
});

test("a connection is asked 30 s after its last byte, neither sooner nor later", async () => {
  const clock = new SimClock();
  const { transport, peers } = await scripted(clock);
  const lines = linesOf(await opened(transport, peers));
  const rejected = assert.rejects(lines.next(), isOutside("unavailable", /does not respond/));
  const peer = peers[0] as ScriptedPeer;
  await clock.advance(29_000);
  await roundTrip(peer);
  await clock.advance(29_999);
  assert.equal(await hasPinged(transport, peer), false);
  await clock.advance(1);
  assert.equal(await hasPinged(transport, peer), true);
  await clock.advance(15_000);
  await rejected;
});

test("after two requests without an answer from a mute server the next goes over a new connection", async () => {
  const clock = new SimClock();
  const { transport, peers } = await scripted(clock);
  const lines = linesOf(await opened(transport, peers));
  const rejected = assert.rejects(lines.next(), isOutside("unavailable", /does not respond/));
  const peer = peers[0] as ScriptedPeer;
  await runOut(transport, peer, clock);
  assert.ok(peer.has(FRAME.ping), "asked without waiting for the usual time");
  await runOut(transport, peer, clock);
  assert.equal(peers.length, 1);
  const third = transport.request(get("/"), NEVER);
  const other = await peerAt(peers, 1);
  other.send(headers((await other.next(FRAME.headers)).streamId, {}, 5));
  assert.equal((await third).status, 200);
  // The watch has gone on until the PING, sent after 10 s, ran out of time.
  assert.equal(clock.monotonic(), 20_000);
  await clock.advance(5_000);
  await rejected;
  await peer.closed;
});

test("a server that answers PINGs but no requests keeps its connection with the watches", async () => {
  const clock = new SimClock();
  const { transport, peers } = await scripted(clock);
  const lines = linesOf(await opened(transport, peers));
  const peer = peers[0] as ScriptedPeer;
  for (let rounds = 0; rounds < 3; rounds += 1) {
    // Two at once: neither has waited for the PING that the other sent.
    await Promise.all([runOut(transport, peer, clock), fails(transport)]);
    await pong(peer);
  }
  peer.send(data(1, "line\n"));
  assert.equal((await lines.next()).value, "line");
  const last = transport.request(get("/"), NEVER);
  // Streams 3 to 13 are those of the rounds.
  await soon("request", async () => {
    while ((await peer.next(FRAME.headers)).streamId < 15);
  });
  peer.send(headers(15, {}, 5));
  assert.equal((await last).status, 200);
  // PINGs that were answered have left nothing behind that ends it later.
  await roundTrip(peer);
  await clock.advance(30_000);
  await pong(peer);
  await clock.advance(20_000);
  peer.send(data(1, "later\n"));
  assert.equal((await lines.next()).value, "later");
  assert.equal(peers.length, 1);
});

test("a server that sends events is not asked when a request has no answer", async () => {
  const clock = new SimClock();
  const { transport, peers } = await scripted(clock);
  const lines = linesOf(await opened(transport, peers));
  const peer = peers[0] as ScriptedPeer;
  for (let rounds = 0; rounds < 3; rounds += 1) {
    const failed = fails(transport);
    await peer.next(FRAME.headers);
    await clock.advance(9_000);
    peer.send(data(1, "line\n"));
    assert.equal((await lines.next()).value, "line");
    await clock.advance(1_000);
    await failed;
  }
  assert.deepEqual([await hasPinged(transport, peer), peers.length], [false, 1]);
});

test("a server that does not read what requests and their ends say loses the connection", async () => {
  const { transport, peers } = await scripted(new SimClock());
  const lines = linesOf(await opened(transport, peers));
  peers[0]?.socket.pause();
  let lost: unknown;
  void lines.next().catch((error: unknown) => {
    lost = error;
  });
  // More than the kernel and the client keep together.
  for (let requests = 0; lost === undefined && requests < 3_000; requests += 1) {
    const leave = new AbortController();
    const asked = transport.request(get(`/${"x".repeat(10_000)}`), leave.signal);
    await new Promise((resolve) => setImmediate(resolve));
    leave.abort(new Error("enough"));
    await asked.catch(() => {});
  }
  assert.ok(isOutside("unavailable", /the peer does not read/)(lost), `${lost}`);
});

test("a connection without streams is closed after a while", async () => {
  const clock = new SimClock();
  const { transport, peers } = await scripted(clock);
  const asked = transport.request({ ...get("/"), timeoutMs: 500_000 }, NEVER);
  const peer = await peerAt(peers, 0);
  const { streamId } = await peer.next(FRAME.headers);
  await roundTrip(peer);
  await clock.advance(30_000);
  await pong(peer);
  await clock.advance(30_000);
  await pong(peer);
  peer.send(headers(streamId, {}, 5));
  assert.equal((await asked).status, 200);
  let isClosed = false;
  void peer.closed.then(() => {
    isClosed = true;
  });
  const announced = peer.next(FRAME.goAway);
  for (let seconds = 0; seconds < 90; seconds += 30) {
    assert.equal(isClosed, false, `closed after ${seconds} s`);
    if (seconds > 0) await pong(peer);
    await clock.advance(30_000);
  }
  await Promise.all([announced, peer.closed]);
});

test("with a new certificate new connections are made, and watches end in order", async () => {
  const clock = new SimClock();
  const identity = new Cell<ClientIdentity | undefined>(undefined);
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => {
    peers.push(peer);
    void (async () => {
      for (;;) peer.send(headers((await peer.next(FRAME.headers)).streamId));
    })();
  });
  const transport = world.connect(port, { clock, credentials: { identity } });
  const lines = linesOf(await transport.watch(watch, NEVER));
  const held = transport.request({ ...get("/"), method: "POST", body: "{}" }, NEVER);
  const rejected = assert.rejects(held, isOutside("unavailable", /certificate was renewed/));
  const next = lines.next();
  await once(peers[0]?.socket as ScriptedPeer["socket"], "data");
  identity.set({ certificatePem: TEST_CERTIFICATE.cert, privateKeyPem: TEST_CERTIFICATE.key });
  assert.equal((await next).done, true);
  assert.equal((await transport.watch(watch, NEVER)).kind, "stream");
  assert.equal(peers.length, 2);
  await clock.advance(10_000);
  await rejected;
  await peers[0]?.closed;
});
