import { connect, type NetConnectOpts, type Socket } from "node:net";
import { Http2Connection } from "./connection.ts";
import { MAX_UNREAD_BYTES } from "./limits.ts";
import { SocketReader } from "./socket-reader.ts";

/** Callbacks of a session. */
interface SessionEvents {
  /** The server's first SETTINGS are there. */
  ready(): void;
  /** No further streams can be opened; those that are open go on. `code` is the error code of a GOAWAY. */
  leaving(code: number): void;
  /** The last open stream is over. */
  idle(): void;
  /** Something came from the server, which has not been read yet. */
  read?(): void;
  /** The server has answered a PING. */
  pong?(): void;
  /** The socket could not be connected, broke, was closed, or the server broke the protocol or does not read. May come more than once. */
  lost(error: Error | undefined): void;
}

/** Most that is taken from a socket without TLS at once. */
const READ_BYTES = 64 * 1024;

/** An HTTP/2 connection on a socket of its own. */
export class Http2Session {
  readonly socket: Socket;
  readonly http2: Http2Connection;
  readonly #events: SessionEvents;
  #bytesRead = 0;
  /** What is to be sent at the end of this turn, in one piece. */
  #unsent: Uint8Array[] = [];

  /** `reader` brings what is read from the socket, which may be on its way to be connected. */
  constructor(socket: Socket, reader: Pick<SocketReader, "attach">, events: SessionEvents) {
    this.socket = socket;
    this.#events = events;
    this.http2 = new Http2Connection({
      write: (bytes) => this.#write(bytes),
      isDrained: () => this.#unsent.length === 0 && this.socket.writableLength === 0,
      ready: () => events.ready(),
      leaving: (code) => events.leaving(code),
      idle: () => events.idle(),
      pong: () => events.pong?.(),
    });
    reader.attach((piece) => {
      this.#bytesRead += piece.length;
      events.read?.();
      try {
        this.http2.receive(piece);
      } catch (error) {
        events.lost(error as Error);
      }
    });
    socket.on("error", (error) => events.lost(error));
    socket.once("close", () => events.lost(undefined));
    this.http2.start();
    if (socket.destroyed) process.nextTick(() => events.lost(undefined));
  }

  /** A session without TLS with whoever listens at this address. */
  static dial(address: NetConnectOpts, events: SessionEvents): Http2Session {
    const reader = new SocketReader(READ_BYTES);
    return new Http2Session(connect({ ...address, onread: reader.onread }), reader, events);
  }

  /** Bytes that the server has sent so far. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Ends the connection with all streams on it, which is reported to nobody. */
  destroy(): void {
    this.#flush();
    this.socket.destroy();
  }

  #write(bytes: Uint8Array): void {
    this.#unsent.push(bytes);
    if (this.#unsent.length === 1) process.nextTick(() => this.#flush());
  }

  #flush(): void {
    const [first] = this.#unsent;
    if (first === undefined) return;
    const bytes = this.#unsent.length === 1 ? first : Buffer.concat(this.#unsent);
    this.#unsent = [];
    if (!this.socket.writable) return;
    // What requests and their resets add goes by no window: of a hung peer, whose calls time out, it would have no end.
    if (this.socket.writableLength > MAX_UNREAD_BYTES) this.#events.lost(unread());
    else this.socket.write(bytes);
  }
}

function unread(): Error {
  const mebibytes = MAX_UNREAD_BYTES / 1024 / 1024;
  return new Error(`the peer does not read: more than ${mebibytes} MiB wait to be sent`);
}
