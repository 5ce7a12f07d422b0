import { connect, type NetConnectOpts, type Socket } from "node:net";
import { Http2Connection } from "./connection.ts";

/** Callbacks of a session. */
export interface SessionEvents {
  /** The server's first SETTINGS are there. */
  ready(): void;
  /** No further streams can be opened; those that are open go on. */
  leaving(): void;
  /** The last open stream is over. */
  idle(): void;
  /** The socket could not be connected, broke, was closed, or the server broke the protocol. May come more than once. */
  lost(error: Error | undefined): void;
}

/** Most that is taken from a socket at once. */
const READ_BYTES = 64 * 1024;

/** An HTTP/2 connection on a socket of its own. */
export class Http2Session {
  readonly socket: Socket;
  readonly http2: Http2Connection;
  /** What is to be sent at the end of this turn, in one piece. */
  #unsent: Uint8Array[] = [];

  constructor(address: NetConnectOpts, events: SessionEvents) {
    this.http2 = new Http2Connection({
      write: (bytes) => this.#write(bytes),
      isDrained: () => this.#unsent.length === 0 && this.socket.writableLength === 0,
      ready: () => events.ready(),
      leaving: () => events.leaving(),
      idle: () => events.idle(),
    });
    const take = (bytes: number, memory: Uint8Array) => {
      try {
        this.http2.receive(memory.subarray(0, bytes) as Buffer);
      } catch (error) {
        events.lost(error as Error);
      }
      return true;
    };
    // One piece of memory for all that comes: the frames are taken out of it at once.
    const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: take };
    this.socket = connect({ ...address, onread });
    this.socket.on("error", (error) => events.lost(error));
    this.socket.once("close", () => events.lost(undefined));
    this.http2.start();
  }

  /** Ends the connection with all streams on it, of which nobody is told. */
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
    if (this.socket.writable) this.socket.write(bytes);
  }
}
