// pure
/** Payloads of the server's frames, validated (RFC 9113, 6). */
import { CODE, FLAG, Http2Error, MAX_31_BIT } from "./frames.ts";

/** Bytes of the deprecated priority in HEADERS. */
const PRIORITY_BYTES = 5;
const PING_BYTES = 8;
/** Payload of our PINGs. */
export const OUR_PING: Buffer = Buffer.from("nodelet.");

/** The server broke a rule that no other error code stands for. */
export function protocolError(message: string): Http2Error {
  return new Http2Error(CODE.protocol, message);
}

/** The payload of a frame that concerns the whole connection. */
export function connectionPayload(streamId: number, payload: Uint8Array): Uint8Array {
  if (streamId !== 0) throw protocolError("a frame of the connection with a stream");
  return payload;
}

/** The body in a DATA frame. */
export function bodyOf(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.padded) === 0) return payload;
  const [padding = 0] = payload;
  if (padding >= payload.length) throw protocolError("padding longer than its frame");
  return payload.subarray(1, payload.length - padding);
}

/** The part of a header block in a HEADERS frame. */
export function blockPartOf(flags: number, payload: Buffer): Buffer {
  const body = bodyOf(flags, payload);
  if ((flags & FLAG.priority) === 0) return body;
  if (body.length < PRIORITY_BYTES) throw protocolError("HEADERS without their priority");
  return body.subarray(PRIORITY_BYTES);
}

/** The number of 32 bits that is the payload of RST_STREAM. */
export function numberOf(payload: Uint8Array): number {
  if (payload.length !== 4)
    throw new Http2Error(CODE.frameSize, `a number of ${payload.length} bytes`);
  return numberAt(payload, 0);
}

/** By how much WINDOW_UPDATE makes a window larger; 0 is an error of the stream or connection. */
export function incrementOf(payload: Uint8Array): number {
  return numberOf(payload) & MAX_31_BIT;
}

/** GOAWAY: the last stream that the server has taken, and the error code for which it leaves. */
export function goAwayOf(payload: Uint8Array): { readonly last: number; readonly code: number } {
  if (payload.length < 8) throw new Http2Error(CODE.frameSize, "GOAWAY that is too short");
  return { last: numberAt(payload, 0) & MAX_31_BIT, code: numberAt(payload, 4) };
}

/** The payload of PING. */
export function pingOf(payload: Uint8Array): Uint8Array {
  if (payload.length !== PING_BYTES)
    throw new Http2Error(CODE.frameSize, `PING of ${payload.length} bytes`);
  return payload;
}

function numberAt(payload: Uint8Array, at: number): number {
  return new DataView(payload.buffer, payload.byteOffset).getUint32(at);
}
