// pure
/** Requests on their way to the server, as fast as it takes them (RFC 9113, 5.2 and 6.9). */
import {
  CODE,
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  frame,
  Http2Error,
  Http2FrameWriter,
  MAX_31_BIT,
} from "./frames.ts";
import { DEFAULT_SETTINGS, DEFAULT_WINDOW_BYTES, withSettings } from "./settings.ts";
import type { Http2Stream } from "./stream.ts";

/** A size update of the dynamic table, to 0 (RFC 7541, 6.3). */
const TABLE_SIZE_ZERO = Buffer.from([0x20]);

/** Sends requests within the server's settings and windows. */
export class RequestSender {
  readonly #write: (bytes: Uint8Array) => void;
  /** Streams whose body waits for a window. */
  readonly #blocked = new Set<Http2Stream>();
  #peer = DEFAULT_SETTINGS;
  #window = DEFAULT_WINDOW_BYTES;
  /** The next header block says that our table is empty, as the server has made its own smaller (RFC 9113, 4.3.1). */
  #isTableUpdateDue = false;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  /** Streams that the server allows at once. */
  get maxStreams(): number {
    return this.#peer.maxConcurrentStreams;
  }

  /** Sends headers, and of the body what can be sent. */
  start(stream: Http2Stream): void {
    stream.sendWindow = this.#peer.initialWindowBytes;
    const { id, unsent } = stream;
    const block = this.#isTableUpdateDue
      ? Buffer.concat([TABLE_SIZE_ZERO, stream.block])
      : stream.block;
    this.#isTableUpdateDue = false;
    if (
      unsent.length === 0 ||
      unsent.length > this.#windowOf(stream) ||
      block.length > this.#peer.maxFrameBytes
    ) {
      this.#sendHeaders(stream, block);
      this.#send(stream);
      return;
    }
    const both = new Http2FrameWriter(2 * FRAME_HEAD_BYTES + block.length + unsent.length);
    both.add(FRAME.headers, FLAG.endHeaders, id, block);
    both.add(FRAME.data, FLAG.endStream, id, unsent);
    this.#count(stream, unsent.length);
    this.#write(both.bytes);
  }

  /** In as many frames as the block needs, with nothing in between (RFC 9113, 4.3). */
  #sendHeaders({ id, unsent }: Http2Stream, block: Uint8Array): void {
    const most = this.#peer.maxFrameBytes;
    let flags: number = unsent.length === 0 ? FLAG.endStream : 0;
    for (let at = 0; at === 0 || at < block.length; at += most) {
      if (at + most >= block.length) flags |= FLAG.endHeaders;
      const part = block.subarray(at, at + most);
      this.#write(frame(at === 0 ? FRAME.headers : FRAME.continuation, flags, id, part));
      flags = 0;
    }
  }

  /** Takes the server's SETTINGS; `open` are the streams on which it has an effect. Throws `Http2Error`. */
  applySettings(payload: Uint8Array, open: Iterable<Http2Stream>): void {
    const before = this.#peer;
    const after = withSettings(before, payload);
    this.#peer = after;
    this.#isTableUpdateDue ||= after.headerTableBytes < before.headerTableBytes;
    const more = after.initialWindowBytes - before.initialWindowBytes;
    for (const stream of open) stream.sendWindow = widened(stream.sendWindow, more);
  }

  /** Window of the connection. Throws `Http2Error` when it is more than a window may have. */
  creditConnection(bytes: number): void {
    this.#window = widened(this.#window, bytes);
    this.sendBlocked();
  }

  /** Window of one stream; false when it is more than a window may have. */
  creditStream(stream: Http2Stream, bytes: number): boolean {
    if (stream.sendWindow + bytes > MAX_31_BIT) return false;
    stream.sendWindow += bytes;
    this.#send(stream);
    return true;
  }

  /** Sends what the windows allow now. */
  sendBlocked(): void {
    for (const stream of [...this.#blocked]) this.#send(stream);
  }

  /** Sends no more of a stream. */
  forget(stream: Http2Stream): void {
    this.#blocked.delete(stream);
  }

  /** How much of a stream's body one frame may take now; less than nothing after a window was made smaller. */
  #windowOf(stream: Http2Stream): number {
    return Math.min(stream.sendWindow, this.#window, this.#peer.maxFrameBytes);
  }

  /** Takes what is sent off the body and the windows. */
  #count(stream: Http2Stream, bytes: number): void {
    stream.unsent = stream.unsent.subarray(bytes);
    stream.sendWindow -= bytes;
    this.#window -= bytes;
  }

  #send(stream: Http2Stream): void {
    while (stream.unsent.length > 0) {
      const window = this.#windowOf(stream);
      if (window <= 0) {
        this.#blocked.add(stream);
        return;
      }
      const part = stream.unsent.subarray(0, window);
      this.#count(stream, part.length);
      const flags = stream.unsent.length === 0 ? FLAG.endStream : 0;
      this.#write(frame(FRAME.data, flags, stream.id, part));
    }
    this.#blocked.delete(stream);
  }
}

function widened(window: number, bytes: number): number {
  if (window + bytes > MAX_31_BIT)
    throw new Http2Error(CODE.flowControl, "a window of more than 2^31-1 bytes");
  return window + bytes;
}
