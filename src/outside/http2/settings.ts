// pure
/** SETTINGS of both sides (RFC 9113, 6.5). */
import { CODE, FRAME, frame, Http2Error, MAX_31_BIT } from "./frames.ts";

const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const MAX_HEADER_LIST_SIZE = 6;

const ENTRY_BYTES = 6;
const SMALLEST_MAX_FRAME = 16_384;
const LARGEST_MAX_FRAME = 2 ** 24 - 1;

/** Window of a connection, and of each stream until SETTINGS say otherwise. */
export const DEFAULT_WINDOW_BYTES = 65_535;

/** What the server has announced. */
interface PeerSettings {
  readonly headerTableBytes: number;
  readonly maxConcurrentStreams: number;
  readonly initialWindowBytes: number;
  readonly maxFrameBytes: number;
}

/** What holds until the server's SETTINGS are there. */
export const DEFAULT_SETTINGS: PeerSettings = {
  headerTableBytes: 4096,
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
  initialWindowBytes: DEFAULT_WINDOW_BYTES,
  maxFrameBytes: SMALLEST_MAX_FRAME,
};

/** The settings after a SETTINGS frame of the server; unknown ones are ignored. Throws `Http2Error`. */
export function withSettings(before: PeerSettings, payload: Uint8Array): PeerSettings {
  if (payload.length % ENTRY_BYTES !== 0)
    throw new Http2Error(CODE.frameSize, `SETTINGS of ${payload.length} bytes`);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  let after = before;
  for (let at = 0; at < payload.length; at += ENTRY_BYTES)
    after = withSetting(after, view.getUint16(at), view.getUint32(at + 2));
  return after;
}

function withSetting(settings: PeerSettings, id: number, value: number): PeerSettings {
  switch (id) {
    case HEADER_TABLE_SIZE:
      return { ...settings, headerTableBytes: value };
    case ENABLE_PUSH:
      if (value !== 0) throw new Http2Error(CODE.protocol, "a server that enables push");
      return settings;
    case MAX_CONCURRENT_STREAMS:
      return { ...settings, maxConcurrentStreams: value };
    case INITIAL_WINDOW_SIZE:
      if (value > MAX_31_BIT)
        throw new Http2Error(CODE.flowControl, `an initial window of ${value} bytes`);
      return { ...settings, initialWindowBytes: value };
    case MAX_FRAME_SIZE:
      if (value < SMALLEST_MAX_FRAME || value > LARGEST_MAX_FRAME)
        throw new Http2Error(CODE.protocol, `frames of at most ${value} bytes`);
      return { ...settings, maxFrameBytes: value };
    default:
      return settings;
  }
}

/** Our SETTINGS: no push, this window for each stream, headers of this size. All else is as the RFC has it. */
export function settingsFrame(streamWindowBytes: number, headerListBytes: number): Buffer {
  const payload = Buffer.allocUnsafe(3 * ENTRY_BYTES);
  const entries = [
    [ENABLE_PUSH, 0],
    [INITIAL_WINDOW_SIZE, streamWindowBytes],
    [MAX_HEADER_LIST_SIZE, headerListBytes],
  ] as const;
  entries.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * ENTRY_BYTES);
    payload.writeUInt32BE(value, index * ENTRY_BYTES + 2);
  });
  return frame(FRAME.settings, 0, 0, payload);
}
