import { isIP } from "node:net";
import {
  checkServerIdentity,
  connect as connectTls,
  getCACertificates,
  type PeerCertificate,
  type TLSSocket,
} from "node:tls";
import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { SocketReader } from "../../http2/socket-reader.ts";
import type { ApiEndpoint, ClientIdentity } from "./transport.ts";

/** Until the connection stands, TLS included (Go: 30 s to connect, 10 s for TLS). */
const DIAL_TIMEOUT_MS = 15_000;
/** Sign of life asked of the kernel on quiet connections. */
const KEEP_ALIVE_MS = 30_000;

/** Most that is taken from a socket at once: what a record of TLS may hold. */
const READ_BYTES = 16 * 1024;

/** A connected server. What the socket brings goes to `reader`. */
export interface DialedServer {
  readonly socket: TLSSocket;
  readonly reader: SocketReader;
}

interface DialDeps {
  readonly clock: Clock;
  /** Called with how long resolving the server's name took. */
  readonly onLookup?: (seconds: number) => void;
}

/** Connects to the API server over TLS, for HTTP/2. Throws `OutsideError`, also when the server does not speak it. */
export function dialServer(
  endpoint: ApiEndpoint,
  identity: ClientIdentity | undefined,
  { clock, onLookup }: DialDeps,
): Promise<DialedServer> {
  const url = new URL(endpoint.server);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || 443);
  const name = endpoint.serverName ?? host;
  const began = clock.monotonic();
  const reader = new SocketReader(READ_BYTES);
  return new Promise((resolve, reject) => {
    const options = {
      host,
      port,
      ca: endpoint.authoritiesPem ?? getCACertificates("system"),
      rejectUnauthorized: endpoint.insecure !== true,
      ...(isIP(name) === 0 ? { servername: name } : {}),
      // The name asked for may be another than the address dialled.
      checkServerIdentity: (_host: string, certificate: PeerCertificate) =>
        checkServerIdentity(name, certificate),
      ...(identity ? { cert: identity.certificatePem, key: identity.privateKeyPem } : {}),
      ALPNProtocols: ["h2"],
      minVersion: "TLSv1.2" as const,
      onread: reader.onread,
    };
    const socket = connectTls(options);
    socket.once("lookup", () => onLookup?.((clock.monotonic() - began) / 1000));
    const at = `${url.host}`;
    const fail = (why: string, cause?: unknown) => {
      cancel();
      socket.destroy();
      reject(new OutsideError("unavailable", `connect to ${at}: ${why}`, { cause }));
    };
    const cancel = clock.alarm(DIAL_TIMEOUT_MS, () => fail("no connection in time"));
    const onError = (error: Error) => fail(error.message, error);
    // Stays, so that no error is without a listener before the session has its own.
    socket.on("error", onError);
    socket.once("secureConnect", () => {
      if (socket.alpnProtocol !== "h2") {
        fail("the server does not speak HTTP/2");
        return;
      }
      cancel();
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve({ socket, reader });
    });
  });
}
