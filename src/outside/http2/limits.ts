// pure
/** Callbacks and limits of an HTTP/2 connection. */

/** Callbacks of a connection. */
export interface Http2Events {
  /** Sends bytes, in the order of the calls. */
  write(bytes: Uint8Array): void;
  /** Whether all that was written has gone. */
  isDrained(): boolean;
  /** The server's first SETTINGS are there. */
  ready(): void;
  /** No further streams can be opened; those that are open go on. Called once, with the error code of a GOAWAY. */
  leaving(code: number): void;
  /** The last open stream is over. */
  idle(): void;
  /** The server has answered our PING. */
  pong?(): void;
}

/** Limits of a connection, which tests make smaller. */
export interface Http2Limits {
  /** Bytes that may be under way to us, on the connection and of one stream. */
  readonly connectionWindowBytes: number;
  readonly streamWindowBytes: number;
  /** The first stream's identifier; odd. */
  readonly firstStreamId: number;
}

/** Limits of all connections. */
export const HTTP2_LIMITS: Http2Limits = {
  connectionWindowBytes: 4 * 1024 * 1024,
  streamWindowBytes: 1024 * 1024,
  firstStreamId: 1,
};

/** Largest headers or trailers of an answer, as RFC 9113, 6.5.2 counts them; larger ones end their stream. */
export const MAX_HEADER_LIST_BYTES = 64 * 1024;
/** Longest compressed header block; a longer one ends the connection. Each frame counts, so that empty ones do. */
export const MAX_BLOCK_BYTES = 128 * 1024;
/** Answers to the server's frames that it may leave unread: more than one piece of input can ask for. */
export const MAX_REPLY_BYTES = 256 * 1024;
/** Bytes of any kind that may wait for the server to read; bodies of requests are far smaller. */
export const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
