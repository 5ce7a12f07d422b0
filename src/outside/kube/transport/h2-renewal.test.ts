// Client certificates that are renewed while a connection is made.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { TEST_CERTIFICATE } from "../../../../test/probes/certificate.ts";
import {
  ApiWorld,
  apiGet as get,
  failsWith as isOutside,
  NO_ABORT as NEVER,
  SERVER_FRAMES,
} from "../../../../test/support/h2-api-server.ts";
import { Cell, type Reading } from "../../../kit/cell.ts";
import { FRAME } from "../../http2/frames.ts";
import type { ClientIdentity } from "./transport.ts";

type Identity = ClientIdentity | undefined;

const RENEWED: ClientIdentity = {
  certificatePem: TEST_CERTIFICATE.cert,
  privateKeyPem: TEST_CERTIFICATE.key,
};

let world: ApiWorld;
beforeEach(() => {
  world = new ApiWorld();
});
afterEach(() => world[Symbol.dispose]());

/** Names of the certificates of all connections, and of the one of each request. */
interface Seen {
  readonly port: number;
  readonly connections: string[];
  readonly requests: string[];
}

/** A server that asks for certificates and answers every request. */
async function asking(): Promise<Seen> {
  const connections: string[] = [];
  const requests: string[] = [];
  const options = { requestCert: true, rejectUnauthorized: false };
  const port = await world.script((peer) => {
    const name = nameOf(peer.socket);
    connections.push(name);
    void (async () => {
      for (;;) {
        const { streamId } = await peer.next(FRAME.headers);
        requests.push(name);
        peer.send(SERVER_FRAMES.headers(streamId, {}, 5));
      }
    })();
  }, options);
  return { port, connections, requests };
}

function nameOf(socket: TLSSocket): string {
  return `${socket.getPeerCertificate().subject?.CN ?? "none"}`;
}

/** `cell`, in which `next` is put right after each time that it is read for a connection. */
function renewedMeanwhile(cell: Cell<Identity>, next: () => Identity): Reading<Identity> {
  return {
    get: () => {
      const now = cell.get();
      queueMicrotask(() => cell.set(next()));
      return now;
    },
    subscribe: (onChange) => cell.subscribe(onChange),
  };
}

test("a connection that was made with an old certificate is made again", async () => {
  const { port, requests } = await asking();
  const identity = renewedMeanwhile(new Cell<Identity>(undefined), () => RENEWED);
  const transport = world.connect(port, { credentials: { identity } });
  assert.equal((await transport.request(get("/"), NEVER)).status, 200);
  assert.equal((await transport.request(get("/"), NEVER)).status, 200);
  assert.deepEqual(requests, ["probe.test", "probe.test"]);
  assert.equal(transport.reachable.get(), true);
});

test("a certificate that changes with every connection is given up for the time being", async () => {
  const { port, connections, requests } = await asking();
  let renewals = 0;
  const next = (): Identity => {
    renewals += 1;
    // Each time another one for the client, of the same name for the server.
    return renewals > 10 ? RENEWED : { ...RENEWED };
  };
  const identity = renewedMeanwhile(new Cell<Identity>(undefined), next);
  const transport = world.connect(port, { credentials: { identity } });
  const refused = transport.request(get("/"), NEVER);
  await assert.rejects(refused, isOutside("unavailable", /keeps changing/));
  assert.ok(connections.length <= 4, `${connections.length} connections`);
  assert.deepEqual(requests, []);
  assert.equal(transport.reachable.get(), false);
  while (renewals <= 10) await transport.request(get("/"), NEVER).catch(() => {});
  assert.equal((await transport.request(get("/"), NEVER)).status, 200);
});
