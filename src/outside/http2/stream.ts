// pure
import type { Http2Fields } from "./reply-headers.ts";

/** The beginning of an answer. */
export interface Http2ReplyHead {
  /** `:status`. */
  readonly status: number;
  readonly headers: Http2Fields;
}

/** An answer that has come to its end. */
export interface Http2Reply extends Http2ReplyHead {
  /** Empty when there were none. */
  readonly trailers: Http2Fields;
}

/** Receives the reply to a request. After `end`, `reset` or `lost` nothing more follows. */
export interface StreamReceiver {
  /** The answer begins. */
  headers?(head: Http2ReplyHead): void;
  /** A piece of the body, which is valid during the call only. After the last one follows `end` at once. */
  data(piece: Buffer, isLast: boolean): void;
  end(reply: Http2Reply): void;
  /** Ended by the server, or by us because the server broke a rule: error code and text. */
  reset(code: number, message: string): void;
}

/** One request and its answer (RFC 9113, 5.1). The connection alone writes what is here. */
export class Http2Stream {
  readonly receiver: StreamReceiver;
  /** Header block of the request. */
  readonly block: Uint8Array;
  /** What of the body has not been sent. */
  unsent: Uint8Array;
  /** 0 as long as the server allows no further stream. */
  id = 0;
  /** Bytes that we may send. */
  sendWindow = 0;
  /** Bytes received that have not been given back to the server's window. */
  uncredited = 0;
  /** Status and headers, once they are there. */
  reply: Http2ReplyHead | undefined;
  isPaused = false;
  isOver = false;

  constructor(block: Uint8Array, body: Uint8Array, receiver: StreamReceiver) {
    this.block = block;
    this.unsent = body;
    this.receiver = receiver;
  }
}
