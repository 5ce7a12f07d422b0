import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { RequestRepair } from "./request-repair.ts";

/** A client's connection as the HTTP/2 server shall see it: what comes in is repaired, what goes out is not. */
export class RepairedSocket extends Duplex {
  readonly #socket: Socket;
  readonly #repair = new RequestRepair();

  constructor(socket: Socket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#takeIn(chunk));
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void) {
    this.#socket.write(chunk, done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  // Methods of TCP sockets that the HTTP/2 server calls; they have no meaning for a unix socket.
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    this.#socket.ref();
    return this;
  }

  unref(): this {
    this.#socket.unref();
    return this;
  }

  #takeIn(chunk: Buffer): void {
    try {
      let more = true;
      for (const part of this.#repair.push(chunk)) if (part.length > 0) more = this.push(part);
      if (!more) this.#socket.pause();
    } catch (error) {
      this.destroy(error as Error);
    }
  }
}
