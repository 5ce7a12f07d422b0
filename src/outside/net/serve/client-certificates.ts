import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { WallMs } from "../../../kit/clock.ts";
import { messageOf } from "../../../kit/errors.ts";
import { isIssuedBy, parseCertificateDer } from "../../x509/x509.ts";
import type { ClientCertificate } from "./listen.ts";

interface Presented {
  readonly der: Uint8Array;
  readonly notAfter: WallMs;
  /** Why the handshake did not believe it. */
  readonly doubt: string | undefined;
  /** The authorities that were asked. */
  authorities: string | undefined;
}

/**
 * Judges the certificate of a connection's client for each request. The handshake's verdict holds as long
 * as the authorities are the same; a connection may outlive both them and its certificate.
 */
export class ClientCertificates {
  readonly #presented = new WeakMap<Socket, Presented | "none">();
  #authorities: string | undefined;

  constructor(authorities: string | undefined) {
    this.#authorities = authorities;
  }

  /** From now on these authorities (PEM) are believed. */
  trust(authorities: string | undefined): void {
    this.#authorities = authorities;
  }

  judge(socket: Socket): ClientCertificate {
    if (!(socket instanceof TLSSocket) || this.#authorities === undefined) return { kind: "none" };
    const presented = this.#presented.get(socket) ?? this.#present(socket);
    if (presented === "none") return { kind: "none" };
    const { der, notAfter, doubt } = presented;
    if (doubt !== undefined) return { kind: "unverified", why: doubt };
    const now = Date.now() as WallMs;
    if (now > notAfter) return { kind: "unverified", why: "the certificate has expired" };
    if (presented.authorities !== this.#authorities) {
      if (!isIssuedBy(der, this.#authorities, now))
        return { kind: "unverified", why: "its CA is no longer trusted" };
      presented.authorities = this.#authorities;
    }
    return { kind: "verified", der };
  }

  #present(socket: TLSSocket): Presented | "none" {
    const certificate = socket.getPeerX509Certificate();
    const found = certificate ? this.#read(socket, certificate.raw) : "none";
    this.#presented.set(socket, found);
    return found;
  }

  #read(socket: TLSSocket, der: Uint8Array): Presented {
    const doubt = socket.authorized
      ? undefined
      : String(socket.authorizationError ?? "not verified");
    const authorities = this.#authorities;
    try {
      return { der, notAfter: parseCertificateDer(der).notAfter, doubt, authorities };
    } catch (error) {
      return { der, notAfter: 0 as WallMs, doubt: messageOf(error), authorities };
    }
  }
}
