// pure

/** Serving states of grpc.health.v1 by their numbers. */
const STATES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;

/** A serving state of grpc.health.v1. */
export type HealthState = (typeof STATES)[number];

const FIELD_SERVICE = 0x0a;
const FIELD_STATUS = 0x08;

/** `HealthCheckRequest{service}` in protobuf. */
export function encodeHealthRequest(service: string): Uint8Array {
  const name = new TextEncoder().encode(service);
  if (name.length === 0) return name;
  const bytes = [FIELD_SERVICE];
  for (let left = name.length; ; left >>>= 7) {
    bytes.push(left > 0x7f ? (left & 0x7f) | 0x80 : left);
    if (left <= 0x7f) break;
  }
  return Uint8Array.from([...bytes, ...name]);
}

/**
 * The state in a `HealthCheckResponse` within its gRPC frame; numbers that are not in the protocol
 * count as UNKNOWN. `undefined` when the bytes are no such answer.
 */
export function decodeHealthStatus(framed: Uint8Array): HealthState | undefined {
  if (framed.length < 5 || framed[0] !== 0) return undefined;
  const length = new DataView(framed.buffer, framed.byteOffset).getUint32(1);
  if (framed.length < 5 + length) return undefined;
  const message = framed.subarray(5, 5 + length);
  let state = 0;
  let at = 0;
  while (at < message.length) {
    const key = readVarint(message, at);
    if (key === undefined) return undefined;
    if (key.value === FIELD_STATUS) {
      const value = readVarint(message, key.next);
      if (value === undefined) return undefined;
      state = value.value;
      at = value.next;
      continue;
    }
    const next = skipField(message, key.next, key.value & 7);
    if (next === undefined) return undefined;
    at = next;
  }
  return STATES[state] ?? "UNKNOWN";
}

function readVarint(
  bytes: Uint8Array,
  from: number,
): { readonly value: number; readonly next: number } | undefined {
  let value = 0;
  for (let i = 0; i < 10; i += 1) {
    const byte = bytes[from + i];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, next: from + i + 1 };
  }
  return undefined;
}

/** Offset of the field after the skipped one; undefined when the bytes end before. */
function skipField(bytes: Uint8Array, from: number, wireType: number): number | undefined {
  let next: number | undefined;
  if (wireType === 0) next = readVarint(bytes, from)?.next;
  else if (wireType === 1) next = from + 8;
  else if (wireType === 5) next = from + 4;
  else if (wireType === 2) {
    const length = readVarint(bytes, from);
    next = length && length.next + length.value;
  }
  return next !== undefined && next <= bytes.length ? next : undefined;
}
