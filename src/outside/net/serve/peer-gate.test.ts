import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSeededRandom } from "../../../kit/random.ts";
import {
  CONNECTION_BYTES,
  type KnownConnections,
  PeerGate,
  type PeerPlace,
  UNKNOWN_HEADER_BYTES,
} from "./peer-gate.ts";
import type { PeerLimits } from "./peer-places.ts";

const LIMITS: PeerLimits = {
  bytes: 4 * CONNECTION_BYTES,
  groupBytes: 3 * CONNECTION_BYTES,
  loopbackBytes: 3 * CONNECTION_BYTES,
  waiting: 2,
  waitMs: 60_000,
  turnMs: 60_000,
  readyMs: 60_000,
};

/** A gate, and what became of the connections that came to it. */
class Crowd {
  readonly gate = new PeerGate(LIMITS);
  readonly known: KnownConnections = { limit: 2, places: new Map() };
  readonly admitted: string[] = [];
  readonly closed: string[] = [];

  come(name: string, address = "192.0.2.1"): PeerPlace {
    return this.gate.enter(address, this.known, {
      onAdmit: () => this.admitted.push(name),
      onClose: (rule) => this.closed.push(`${name}: ${rule}`),
    });
  }
}

describe("PeerGate", () => {
  test("admits at once while there are places, then as places become free, who came last first", () => {
    const crowd = new Crowd();
    const [a] = ["a", "b", "c", "d", "e"].map((name) => crowd.come(name));
    assert.deepEqual(crowd.admitted, ["a", "b", "c"]);
    a?.leave();
    assert.deepEqual(crowd.admitted, ["a", "b", "c", "e"]);
    assert.deepEqual(crowd.gate.count, { placed: 3, waiting: 1 });
  });

  test("who has authenticated leaves its place to others and is not asked to give way", () => {
    const crowd = new Crowd();
    const [a] = ["a", "b", "c", "d"].map((name) => crowd.come(name));
    a?.authenticate();
    assert.deepEqual(crowd.admitted, ["a", "b", "c", "d"]);
    for (let i = 0; i < 20; i += 1) crowd.come(`x${i}`);
    assert.ok(!crowd.closed.some((text) => text.startsWith("a")), `${crowd.closed}`);
  });

  test("an idle connection is closed as soon as another one comes", () => {
    const crowd = new Crowd();
    const [a] = ["a", "b", "c"].map((name) => crowd.come(name));
    const end = a?.begin(100);
    end?.();
    end?.();
    crowd.come("d");
    assert.deepEqual(crowd.closed, ["a: gives way"]);
    assert.deepEqual(crowd.admitted, ["a", "b", "c", "d"]);
  });

  test("time alone admits who waits", async () => {
    const gate = new PeerGate({ ...LIMITS, turnMs: 20 });
    const known: KnownConnections = { limit: 2, places: new Map() };
    const closed: string[] = [];
    const onClose = (rule: string) => closed.push(rule);
    for (let i = 0; i < 3; i += 1) gate.enter("192.0.2.1", known, { onAdmit: () => {}, onClose });
    await new Promise<void>((resolve) =>
      gate.enter("192.0.2.1", known, { onAdmit: resolve, onClose }),
    );
    assert.deepEqual(closed, ["gives way"]);
  });

  test("headers of requests that are being answered count, those of authenticated peers do not", () => {
    const crowd = new Crowd();
    const [a, b, c] = ["a", "b", "c"].map((name) => crowd.come(name));
    c?.authenticate();
    c?.begin(10 * CONNECTION_BYTES);
    assert.deepEqual(crowd.closed, []);
    // Not longer than what every connection is reckoned with.
    const end = b?.begin(UNKNOWN_HEADER_BYTES / 4);
    assert.deepEqual(crowd.closed, []);
    end?.();
    b?.begin(UNKNOWN_HEADER_BYTES);
    crowd.come("d");
    assert.deepEqual(crowd.closed, []);
    assert.deepEqual(crowd.gate.count, { placed: 2, waiting: 1 });
    a?.begin(CONNECTION_BYTES);
    assert.deepEqual(crowd.closed, ["b: budget is used up"]);
    assert.deepEqual(crowd.gate.count, { placed: 1, waiting: 1 });
  });

  test("requests one behind the other are not for nothing", () => {
    const crowd = new Crowd();
    const a = crowd.come("a");
    for (let i = 0; i < 1_000 && crowd.closed.length === 0; i += 1) a.begin(10);
    assert.deepEqual(crowd.closed, ["a: budget is used up"]);
  });

  test("of too many authenticated ones the idle one goes, a busy one never", () => {
    const crowd = new Crowd();
    const [a, b, c] = ["a", "b", "c"].map((name) => crowd.come(name));
    a?.authenticate();
    a?.begin(1);
    b?.authenticate();
    c?.authenticate();
    assert.deepEqual(crowd.closed, ["b: too many connections"]);
    c?.begin(1);
    crowd.come("d").authenticate();
    assert.deepEqual(crowd.closed, ["b: too many connections", "d: too many connections"]);
    assert.equal(crowd.known.places.size, 2);
  });

  test("random histories: nobody is admitted twice or after its end, and nothing is left behind", () => {
    const random = createSeededRandom(7);
    for (let round = 0; round < 100; round += 1) checkHistory(random);
  });
});

interface Guest {
  state: "waiting" | "admitted" | "gone";
  place?: PeerPlace;
  readonly ends: (() => void)[];
}

function checkHistory(random: { next(): number }): void {
  const gate = new PeerGate({ ...LIMITS, turnMs: 0, readyMs: 0 });
  const known: KnownConnections = { limit: 3, places: new Map() };
  const guests: Guest[] = [];
  const come = () => {
    const guest: Guest = { state: "waiting", ends: [] };
    guests.push(guest);
    guest.place = gate.enter(`192.0.2.${Math.floor(random.next() * 4)}`, known, {
      onAdmit: () => {
        assert.equal(guest.state, "waiting");
        guest.state = "admitted";
      },
      onClose: () => {
        assert.notEqual(guest.state, "gone");
        guest.state = "gone";
      },
    });
    // The socket's own end follows when it was closed before it had come in.
    if (guest.state === ("gone" as Guest["state"])) guest.place.leave();
  };
  for (let step = 0; step < 60; step += 1) {
    const guest = guests[Math.floor(random.next() * guests.length)];
    const turn = random.next();
    if (!guest?.place || turn < 0.4) come();
    else if (turn < 0.5) {
      guest.state = "gone";
      guest.place.leave();
    } else if (guest.state === "admitted") {
      if (turn < 0.6) guest.place.authenticate();
      else if (turn < 0.7) guest.place.ready();
      else if (turn < 0.85) guest.ends.push(guest.place.begin(Math.floor(random.next() * 99_000)));
      else guest.ends.pop()?.();
    }
    const { placed, waiting } = gate.count;
    const count = (state: Guest["state"]) => guests.filter((each) => each.state === state).length;
    assert.equal(waiting, count("waiting"));
    assert.equal(placed + known.places.size, count("admitted"));
    assert.ok(placed <= 4 && waiting <= LIMITS.waiting && known.places.size <= 3);
  }
  for (const { place } of guests) place?.leave();
  assert.deepEqual(gate.count, { placed: 0, waiting: 0 });
  assert.equal(known.places.size, 0);
}
