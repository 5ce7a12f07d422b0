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
import { FRAME, frame } from "../../http2/frames.ts";
import type { ClientIdentity } from "./transport.ts";

const { headers, data, goAway, reset } = SERVER_FRAMES;

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
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => void peers.push(peer));
  const transport = world.connect(port, { clock });
  const asked = transport.request(
    { ...get("/"), method: "POST", body: "{}", timeoutMs: 500_000 },
    NEVER,
  );
  const rejected = assert.rejects(asked, isOutside("unavailable", /does not respond/));
  while (peers.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const peer = peers[0] as ScriptedPeer;
  await peer.next(FRAME.headers);
  await roundTrip(peer);
  // Something has come since the connection was made, and nothing for the time after that.
  await clock.advance(30_000);
  await clock.advance(30_000);
  const ping = await peer.next(FRAME.ping);
  peer.send(frame(FRAME.ping, 1, 0, ping.payload));
  await roundTrip(peer);
  await clock.advance(60_000);
  await peer.next(FRAME.ping);
  await clock.advance(15_000);
  await rejected;
  await peer.closed;
});

test("a connection without streams is closed after a while", async () => {
  const clock = new SimClock();
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => {
    peers.push(peer);
    void (async () => {
      const { streamId } = await peer.next(FRAME.headers);
      peer.send(headers(streamId, {}, 5));
    })();
  });
  const transport = world.connect(port, { clock });
  assert.equal((await transport.request(get("/"), NEVER)).status, 200);
  const peer = peers[0] as ScriptedPeer;
  let isClosed = false;
  void peer.closed.then(() => {
    isClosed = true;
  });
  const announced = peer.next(FRAME.goAway);
  for (let seconds = 0; seconds < 90; seconds += 30) {
    assert.equal(isClosed, false, `closed after ${seconds} s`);
    if (seconds > 0) await roundTrip(peer);
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
