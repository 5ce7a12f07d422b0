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
import type { ApiEndpoint, ClientIdentity } from "./transport.ts";

/** Until the connection stands, TLS included (Go: 30 s to connect, 10 s for TLS). */
const DIAL_TIMEOUT_MS = 15_000;
/** Sign of life asked of the kernel on quiet connections. */
const KEEP_ALIVE_MS = 30_000;

/** Protocols a server may speak. */
export type Protocol = "h2" | "http/1.1";

/** Dependencies for dialling. */
export interface DialDeps {
  readonly clock: Clock;
  /** Called with how long resolving the server's name took. */
  readonly onLookup?: (seconds: number) => void;
}

/** Connects to the API server over TLS. Throws `OutsideError`. */
export function dialServer(
  endpoint: ApiEndpoint,
  identity: ClientIdentity | undefined,
  protocols: readonly Protocol[],
  { clock, onLookup }: DialDeps,
): Promise<TLSSocket> {
  const url = new URL(endpoint.server);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || 443);
  const name = endpoint.serverName ?? host;
  const began = clock.monotonic();
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host,
      port,
      ca: endpoint.authoritiesPem ?? getCACertificates("system"),
      rejectUnauthorized: endpoint.insecure !== true,
      ...(isIP(name) === 0 ? { servername: name } : {}),
      // The name asked for may be another than the address dialled.
      checkServerIdentity: (_host: string, certificate: PeerCertificate) =>
        checkServerIdentity(name, certificate),
      ...(identity ? { cert: identity.certificatePem, key: identity.privateKeyPem } : {}),
      ALPNProtocols: [...protocols],
      minVersion: "TLSv1.2",
    });
    socket.once("lookup", () => onLookup?.((clock.monotonic() - began) / 1000));
    const at = `${url.host}`;
    const fail = (why: string, cause?: unknown) => {
      cancel();
      socket.destroy();
      reject(new OutsideError("unavailable", `connect to ${at}: ${why}`, { cause }));
    };
    const cancel = clock.alarm(DIAL_TIMEOUT_MS, () => fail("no connection in time"));
    const onError = (error: Error) => fail(error.message, error);
    socket.once("error", onError);
    socket.once("secureConnect", () => {
      cancel();
      socket.off("error", onError);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(socket);
    });
  });
}
