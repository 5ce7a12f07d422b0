/** The server's side of a WebSocket: taking one, and sending without piling up what the peer does not read. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { endThenDestroy } from "./upgrade-proxy.ts";

/** Longest message that a client may send, as Go's server takes it. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** While more than this waits to be sent, nothing more is read from where it comes from. */
const MAX_UNSENT_BYTES = 512 * 1024;
const CLOSE_NORMAL = 1000;
/** How long the other side may take what was already written for it, once its peer is gone. */
const LINGER_MS = 1_000;

/** Outcome of a WebSocket upgrade. */
export type Accepted =
  | { readonly kind: "open"; readonly webSocket: WebSocket }
  | { readonly kind: "refused"; readonly why: string };

/**
 * Answers a request for a WebSocket whose client has offered the subprotocol `protocol`. The WebSocket is paused. A request
 * that is wrong is not answered.
 */
export async function acceptWebSocket(
  request: IncomingMessage,
  { socket, early }: { readonly socket: Duplex; readonly early: Buffer },
  protocol: string,
): Promise<Accepted> {
  // Loaded by the first that needs it: most nodes never do.
  const { WebSocketServer } = await import("ws");
  return new Promise((resolve) => {
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    server.once("headers", (lines) => lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
    server.once("wsClientError", (error) => resolve({ kind: "refused", why: error.message }));
    server.handleUpgrade(withoutProtocols(request), socket, early, (webSocket) => {
      webSocket.pause();
      resolve({ kind: "open", webSocket });
    });
    // The answer is known by now, unless the peer is gone.
    resolve({ kind: "refused", why: "the client is gone" });
  });
}

/**
 * The request without the subprotocols it offers: Kubernetes' `SPDY/3.1+portforward.k8s.io` is not a token, as RFC 6455
 * requires it, and `ws` refuses it.
 */
function withoutProtocols(request: IncomingMessage): IncomingMessage {
  const { "sec-websocket-protocol": _, ...headers } = request.headers;
  return Object.create(request, { headers: { value: headers } }) as IncomingMessage;
}

/** Sends a message; `source` pauses while too much waits to be sent. */
export function sendFrom(source: Duplex, webSocket: WebSocket, message: Uint8Array): void {
  webSocket.send(message, { binary: true }, () => {
    if (webSocket.bufferedAmount <= MAX_UNSENT_BYTES / 2) source.resume();
  });
  if (webSocket.bufferedAmount > MAX_UNSENT_BYTES) source.pause();
}

/** Writes to `sink`; the WebSocket pauses while too much waits to be written. */
export function writeFrom(webSocket: WebSocket, sink: Duplex, chunks: readonly Uint8Array[]): void {
  let writable = true;
  for (const chunk of chunks) writable = sink.write(chunk);
  if (writable || webSocket.isPaused) return;
  webSocket.pause();
  sink.once("drain", () => webSocket.resume());
}

/** Closes the sending side once everything was sent. */
export function closeWebSocket(webSocket: WebSocket, code = CLOSE_NORMAL, why = ""): void {
  // The closing handshake of a paused one is not read.
  webSocket.resume();
  webSocket.close(code, why);
}

/** Ends a connection behind what was written to it; one that does not take that in time is cut. */
export function letGo(socket: Duplex): void {
  if (socket.destroyed) return;
  endThenDestroy(socket);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

/** Content of a message; fragments are joined. */
export function messageBytes(data: Buffer | ArrayBuffer | Buffer[]): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
