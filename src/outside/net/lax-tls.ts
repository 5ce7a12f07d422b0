import { constants } from "node:crypto";
import { isIP, type Socket } from "node:net";
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { brokenText, PeerError } from "./dial.ts";

/** The peer, and the protocols that are offered to it, the preferred one first. */
interface LaxTlsTarget {
  readonly host: string;
  readonly port: number;
  readonly protocols: readonly string[];
}

/** TLS with whatever a pod serves: certificates are not verified, every version and cipher that is still built in. */
export class LaxTls {
  #context: SecureContext | undefined;

  /** Negotiates TLS on a connection that stands. Rejects with `PeerError`. */
  secure(raw: Socket, { host, port, protocols }: LaxTlsTarget): Promise<TLSSocket> {
    this.#context ??= createSecureContext({
      minVersion: "TLSv1",
      ciphers: "DEFAULT:@SECLEVEL=0",
      secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
    });
    const secureContext = this.#context;
    return new Promise((resolve, reject) => {
      const socket = connectTls({
        socket: raw,
        secureContext,
        rejectUnauthorized: false,
        ALPNProtocols: [...protocols],
        ...(isIP(host) === 0 ? { servername: host } : {}),
      });
      socket.on("error", (error) => reject(new PeerError(tlsText(host, port, error))));
      socket.once("close", () => reject(new PeerError("EOF")));
      raw.once("end", () => reject(new PeerError("EOF")));
      socket.once("secureConnect", () => resolve(socket));
    });
  }
}

function tlsText(host: string, port: number, error: NodeJS.ErrnoException): string {
  if (error.code === "ERR_SSL_WRONG_VERSION_NUMBER") {
    return "http: server gave HTTP response to HTTPS client";
  }
  if (error.code === "ECONNRESET" && error.syscall === undefined) return "EOF";
  return brokenText(host, port, error);
}
