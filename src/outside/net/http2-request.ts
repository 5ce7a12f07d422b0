import type { Socket } from "node:net";
import { CODE } from "../http2/frames.ts";
import { Http2Session } from "../http2/http2.ts";
import type { Http2Fields } from "../http2/reply-headers.ts";
import { fieldBlock } from "../http2/request-fields.ts";
import type { TakePiece } from "../http2/socket-reader.ts";
import type { Http2Reply } from "../http2/stream.ts";
import { PeerError } from "./dial.ts";

/** Answer to one HTTP/2 request. */
export interface SingleReply {
  /** `:status`. */
  readonly status: number;
  readonly headers: Http2Fields;
  /** Trailers; empty when there are none, or when the body was cut off. */
  readonly trailers: Http2Fields;
  /** At most the bytes that were asked for. */
  readonly body: Buffer;
}

/** One HTTP/2 request. */
interface SingleRequest {
  /** Pseudo-headers first; a name may come several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  readonly maxBodyBytes: number;
  /** Called when the peer has shown that it speaks HTTP/2 (its SETTINGS came). */
  readonly onReady?: () => void;
}

const NOTHING = new Uint8Array();

/**
 * Makes one HTTP/2 request on a connection of its own, which stands and whose closing is the caller's. Rejects with
 * `PeerError` for what the peer does.
 */
export function requestOnce(socket: Socket, request: SingleRequest): Promise<SingleReply> {
  const block = blockOf(request.headers);
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let capacity = request.maxBodyBytes;
    const finish = ({ status, headers, trailers }: Http2Reply) =>
      resolve({ status, headers, trailers, body: Buffer.concat(parts) });
    const fail = (message: string) => reject(new PeerError(message));
    const reader = { attach: (take: TakePiece) => void socket.on("data", take) };
    const session = new Http2Session(socket, reader, {
      ready: () => request.onReady?.(),
      // A server that leaves for an error answers nothing more.
      leaving: (code) => {
        if (code !== CODE.noError) fail(`http2: server sent GOAWAY, code ${code}`);
      },
      idle: () => {},
      lost: (error) => fail(`http2: ${error?.message ?? "client connection lost"}`),
    });
    // The socket is half open: a peer that closes ends its side only.
    socket.once("end", () => fail("unexpected EOF"));
    const stream = session.http2.open(block, request.body ?? NOTHING, {
      data: (piece) => {
        parts.push(Buffer.from(piece.subarray(0, capacity)));
        capacity -= piece.length;
        if (capacity >= 0 || !stream.reply) return;
        session.http2.cancel(stream);
        finish({ ...stream.reply, trailers: {} });
      },
      end: finish,
      reset: (_code, message) => fail(`stream error: ${message}`),
    });
  });
}

function blockOf(headers: SingleRequest["headers"]): Buffer {
  try {
    return Buffer.concat(headers.map(([name, value]) => fieldBlock({ [name]: value })));
  } catch (error) {
    if (error instanceof RangeError) throw new PeerError(`http2: ${error.message}`);
    throw error;
  }
}
