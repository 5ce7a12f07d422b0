import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { PeerError } from "./dial.ts";

/** Answer to one HTTP/2 request. */
export interface H2Reply {
  readonly headers: IncomingHttpHeaders & { readonly ":status"?: number };
  /** Trailers; empty when there are none, or when the body was cut off. */
  readonly trailers: IncomingHttpHeaders;
  /** At most the bytes that were asked for. */
  readonly body: Uint8Array;
}

/** One HTTP/2 request; its headers hold the pseudo-headers but `:scheme`. */
export interface H2Request {
  readonly scheme: "http" | "https";
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Uint8Array;
  readonly maxBodyBytes: number;
  /** Called when the peer has shown that it speaks HTTP/2 (its SETTINGS came). */
  readonly onReady?: () => void;
}

/**
 * Makes one HTTP/2 request on a connection of its own, whose closing is the caller's. Throws `PeerError`
 * for what the peer does. Waits for no `close` event: some Node releases leave it out after resets.
 */
export async function requestH2(connection: Duplex, request: H2Request): Promise<H2Reply> {
  const session = connect(`${request.scheme}://peer`, {
    createConnection: () => connection,
    settings: { enablePush: false },
  });
  try {
    return await exchange(session, connection, request);
  } finally {
    // Never from within an event of the session or of its streams.
    setImmediate(() => session.destroy());
  }
}

function exchange(
  session: ClientHttp2Session,
  connection: Duplex,
  request: H2Request,
): Promise<H2Reply> {
  return new Promise((resolve, reject) => {
    const fail = (message: string) => reject(new PeerError(message));
    session.on("error", (error) => fail(`http2: ${error.message}`));
    session.on("close", () => fail("http2: client connection lost"));
    connection.once("end", () => fail("unexpected EOF"));
    connection.once("close", () => fail("http2: client connection lost"));
    session.once("remoteSettings", () => request.onReady?.());
    session.on("goaway", (code) => {
      if (code !== constants.NGHTTP2_NO_ERROR) fail(`http2: server sent GOAWAY, code ${code}`);
    });
    const stream = session.request(
      { ":scheme": request.scheme, ...request.headers },
      { endStream: request.body === undefined },
    );
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const finish = () => resolve({ headers, trailers, body: Buffer.concat(parts) });
    stream.on("response", (received) => {
      headers = received;
    });
    stream.on("trailers", (received) => {
      trailers = received;
    });
    stream.on("data", (part: Buffer) => {
      const capacity = request.maxBodyBytes - bytes;
      parts.push(part.length > capacity ? part.subarray(0, capacity) : part);
      bytes += Math.min(part.length, capacity);
      if (bytes >= request.maxBodyBytes && part.length > capacity) finish();
    });
    stream.once("end", () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) finish();
    });
    stream.on("error", (error) => fail(`stream error: ${error.message}`));
    stream.on("close", () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) finish();
      else fail(`stream error: stream ID ${stream.id ?? 0}; RST code ${stream.rstCode}`);
    });
    if (request.body !== undefined) stream.end(request.body);
  });
}
