/** A server that sends what a test sets, against the client's side of an HTTP/2 connection without a socket. */

import { Http2Connection } from "../../src/outside/http2/connection.ts";
import { frame, Http2FrameReader, PREFACE } from "../../src/outside/http2/frames.ts";
import { ascii, encodeHeaders, HpackDecoder } from "../../src/outside/http2/hpack.ts";
import { HTTP2_LIMITS, type Http2Limits } from "../../src/outside/http2/limits.ts";
import type { Http2Stream } from "../../src/outside/http2/stream.ts";

/** A frame as a test sees it. */
export interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** What came of a stream. */
export interface SeenStream {
  readonly stream: Http2Stream;
  /** `data`, `end` and `reset` with what they brought. */
  readonly events: string[];
  readonly bytes: () => number;
}

/** Settings as numbers by identifier. */
export function settingsOf(values: Readonly<Record<number, number>>): Buffer {
  const entries = Object.entries(values);
  const payload = Buffer.alloc(entries.length * 6);
  entries.forEach(([id, value], index) => {
    payload.writeUInt16BE(Number(id), index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  });
  return frame(4, 0, 0, payload);
}

/** A header block of literals. */
export function blockOf(fields: Readonly<Record<string, string>>): Uint8Array {
  return encodeHeaders(
    Object.entries(fields).map(([name, value]) => ({
      name: ascii(name),
      value: ascii(value),
      neverIndexed: false,
    })),
  );
}

/** A number of 32 bits. */
export function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** HEADERS of an answer that goes well, and its trailers. */
export const OK = { ":status": "200", "content-type": "application/grpc" };
export const DONE = { "grpc-status": "0" };

const LARGEST_FRAME = 2 ** 24 - 1;

/** The connection under test, with what it sent and the notices it gave. */
export class Http2Peer {
  readonly connection: Http2Connection;
  /** `ready`, `leaving`, `idle`, `pong`, in order. */
  readonly notices: string[] = [];
  /** Whether what the client writes is read. */
  isReading = true;
  readonly #decoder = new HpackDecoder({ tableBytes: 4096, listBytes: 65_536 });
  #written: Buffer[] = [];

  constructor(limits: Partial<Http2Limits> = {}) {
    this.connection = new Http2Connection(
      {
        write: (bytes) => void this.#written.push(Buffer.from(bytes)),
        isDrained: () => this.isReading,
        ready: () => void this.notices.push("ready"),
        leaving: () => void this.notices.push("leaving"),
        idle: () => void this.notices.push("idle"),
        pong: () => void this.notices.push("pong"),
      },
      { ...HTTP2_LIMITS, ...limits },
    );
    this.connection.start();
  }

  /** A connection whose server has announced these settings; what was said until then is forgotten. */
  static ready(
    values: Readonly<Record<number, number>> = {},
    limits: Partial<Http2Limits> = {},
  ): Http2Peer {
    const peer = new Http2Peer(limits);
    peer.send(settingsOf(values));
    peer.said();
    return peer;
  }

  /** The client receives this. */
  send(...frames: readonly Uint8Array[]): void {
    this.connection.receive(Buffer.concat(frames));
  }

  /** The frames that the client has sent since this was last asked. */
  said(): readonly SeenFrame[] {
    const bytes = Buffer.concat(this.#written);
    this.#written = [];
    const frames: SeenFrame[] = [];
    const reader = new Http2FrameReader(
      {
        frame: (type, flags, streamId, payload) =>
          void frames.push({ type, flags, streamId, payload: Buffer.from(payload) }),
      },
      LARGEST_FRAME,
    );
    reader.push(
      bytes.subarray(0, PREFACE.length).equals(PREFACE) ? bytes.subarray(PREFACE.length) : bytes,
    );
    return frames;
  }

  /** The same, for a glance: type, flags, stream and length of each. */
  saidBriefly(): readonly string[] {
    return this.said().map(
      ({ type, flags, streamId, payload }) => `${type} ${flags} ${streamId} ${payload.length}`,
    );
  }

  /** Fields of a header block of the client's. */
  fieldsOf(block: Uint8Array): readonly string[] {
    return this.#decoder
      .decode(block)
      .map(({ name, value }) => `${Buffer.from(name)}: ${Buffer.from(value)}`);
  }

  /** Sends a request. */
  open(
    body: Uint8Array = Buffer.from("body"),
    block: Uint8Array = blockOf({ a: "b" }),
  ): SeenStream {
    const events: string[] = [];
    let bytes = 0;
    const stream = this.connection.open(block, body, {
      data: (piece) => {
        bytes += piece.length;
        const last = events.at(-1);
        const text = Buffer.from(piece).toString("latin1");
        if (last?.startsWith("data ")) events[events.length - 1] = last + text;
        else events.push(`data ${text}`);
      },
      end: ({ status, headers, trailers }) =>
        void events.push(`end ${status} ${JSON.stringify({ ...headers, ...trailers })}`),
      reset: (code, message) => void events.push(`reset ${code} ${message}`),
    });
    return { stream, events, bytes: () => bytes };
  }

  /** HEADERS of a stream in one frame. */
  headers(streamId: number, fields: Readonly<Record<string, string>>, endStream = false): Buffer {
    return frame(1, 4 | (endStream ? 1 : 0), streamId, blockOf(fields));
  }

  /** DATA of a stream. */
  data(streamId: number, payload: string | Uint8Array, endStream = false): Buffer {
    return frame(0, endStream ? 1 : 0, streamId, Buffer.from(payload));
  }
}
