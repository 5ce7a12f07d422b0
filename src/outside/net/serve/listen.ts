/**
 * Being asked over HTTP/1.1: listeners on TCP (with or without TLS) and on unix sockets. Only interfaces
 * here; `http-listener.ts` holds the real one.
 */
import type { CommandStreams } from "../streams/remote-command.ts";

/** Address of a listener. */
export type ListenAddress =
  /** Port 0 takes any free one. */
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  /** For root only; a stale socket is replaced, its folder is created. */
  | { readonly kind: "unix"; readonly path: string };

/** Certificate with key, and the authorities whose client certificates are believed; all PEM. */
export interface TlsMaterial {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly clientAuthoritiesPem?: string;
}

/** Names as the kubelet's configuration has them; empty lists and texts take the defaults. */
export interface TlsSettings {
  readonly minVersion: string;
  readonly cipherSuites: readonly string[];
  /** Numbers of the TLS registry of groups. */
  readonly curvePreferences: readonly number[];
}

/** Limits on a peer's requests, in bytes and time. */
export interface ListenLimits {
  readonly headerBytes: number;
  /** For the whole header, and for the whole request. */
  readonly headerMs: number;
  readonly requestMs: number;
  readonly handshakeMs: number;
  /** A connection without a request is closed after this. */
  readonly idleMs: number;
  /** A peer that takes nothing of a reply for this long is cut. */
  readonly stalledMs: number;
  readonly connections: number;
}

/** Address of a listener and callbacks for its connections. */
export interface ListenOptions {
  readonly address: ListenAddress;
  readonly tls?: { readonly material: TlsMaterial; readonly settings: TlsSettings };
  /** Speaks HTTP/2 too, with peers that ask for it; only with TLS. */
  readonly http2?: boolean;
  /** It is asked for health checks only: its connections have a share of their own, which others cannot use up. */
  readonly forHealthChecks?: boolean;
  readonly limits: ListenLimits;
  /** Whether a request that offers another protocol may be taken at its word; others are plain HTTP. */
  readonly mayUpgrade: (method: string, target: string) => boolean;
  /** Answers one request. A throw becomes a 500 without details, and is reported to `onProblem`. */
  readonly onExchange: (exchange: Exchange) => Promise<void>;
  /** Something is wrong with a peer, or with an answer. */
  readonly onProblem: (problem: ListenProblem) => void;
}

/** Something that went wrong with a peer. */
export interface ListenProblem {
  /** `handshake` and `request` are the peer's fault, `answer` is ours. */
  readonly kind: "handshake" | "request" | "answer";
  readonly peer: string;
  readonly error: unknown;
}

/** Closing it ends what is being answered, within a second. */
export interface HttpListener extends AsyncDisposable {
  /** Address with the port that was assigned. */
  readonly address: ListenAddress;
  /**
   * Takes other certificates for connections to come. Clients of open ones are judged again. What
   * cannot be used is an `OutsideError` "invalid" and changes nothing.
   */
  setTls(material: TlsMaterial): void;
}

/** The peer's certificate. */
export type ClientCertificate =
  | { readonly kind: "none" }
  /** An authority vouches for it and it is valid now; DER. */
  | { readonly kind: "verified"; readonly der: Uint8Array }
  | { readonly kind: "unverified"; readonly why: string };

/** Headers of an answer by name. */
export type ReplyHeaders = Readonly<Record<string, string>>;

/**
 * One request and its answer. Exactly one of `reply`, `replyStream`, `proxyUpgrade`, `proxyCommand`, `proxyTunnel` and
 * `forward` is to be called.
 */
export interface Exchange {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Lower-case names; repeated ones are joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** `address:port`, or `unix`. */
  readonly peer: string;
  readonly client: ClientCertificate;
  /** The protocol of the peer's upgrade request, in lower case, where allowed. */
  readonly upgrade: string | undefined;
  /** Aborted when the peer is gone or the listener closes. */
  readonly signal: AbortSignal;
  /** Status of the reply, once there is one. */
  readonly status: number | undefined;
  /**
   * Reports that the peer has proved who it is: its connection is no longer one of those that share a small budget
   * and give way to others. Who shows a good client certificate, or comes over a unix socket, is known before.
   */
  authenticated(): void;
  /** The whole body; a longer one is an `OutsideError` "exhausted". */
  readBody(maxBytes: number): Promise<Uint8Array>;
  /** Answers and is done. Resolves when it was handed to the kernel or the peer is gone. */
  reply(status: number, headers: ReplyHeaders, body?: string | Uint8Array): Promise<void>;
  replyStream(status: number, headers: ReplyHeaders): ReplyStream;
  /**
   * Hands the connection over to the HTTP server at `url`, which must be on loopback, and copies bytes
   * both ways until either ends it, nothing moved for `idleMs` (0: for ever), or the listener closes.
   * An error status of that server is passed on. Rejects without having answered with `OutsideError`:
   * "denied" for an address that is not loopback, "unavailable" when the server does not switch.
   */
  proxyUpgrade(url: string, idleMs: number): Promise<void>;
  /**
   * As `proxyUpgrade`, for a command over a WebSocket (`v5.channel.k8s.io`) while the server at `url` speaks SPDY/3.1.
   * The client learns over the WebSocket what goes wrong at that server.
   */
  proxyCommand(url: string, streams: CommandStreams, idleMs: number): Promise<void>;
  /**
   * As `proxyUpgrade`, for SPDY/3.1 inside a WebSocket: what its binary messages hold are bytes of the connection to
   * the server at `url`. `streamProtocols` is what the client can speak over SPDY; the server chooses.
   */
  proxyTunnel(url: string, streamProtocols: readonly string[], idleMs: number): Promise<void>;
  /**
   * Has the HTTP server on a unix socket answer, as it would if it had been asked for `target.path`; a
   * request to switch protocols is passed on too. Credentials are not. Rejects without having answered with
   * `OutsideError` "unavailable" when no server answers there.
   */
  forward(target: ForwardTarget, idleMs: number): Promise<void>;
}

/** An HTTP server on this machine. */
export interface ForwardTarget {
  readonly socketPath: string;
  /** Path and query. */
  readonly path: string;
  /** Replaces replies to errors with this text; without it errors are passed on too. */
  readonly refusal?: (status: number, text: string) => ReplacedAnswer;
}

/** An answer in place of an error of another server. */
interface ReplacedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** An answer that is sent piece by piece. */
export interface ReplyStream {
  /** Resolves when the buffer has space; rejects with the reason when the peer is gone or stalled. */
  write(chunk: Uint8Array | string): Promise<void>;
  end(): Promise<void>;
}

/** Starts a listener; an address in use is an `OutsideError` "alreadyExists". */
export type Listen = (options: ListenOptions) => Promise<HttpListener>;
