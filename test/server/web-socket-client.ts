/** A client of Kubernetes' WebSockets. */
import { type ClientOptions, WebSocket } from "ws";

/** A WebSocket that is being opened. */
export interface Opening {
  readonly webSocket: WebSocket;
  /** The subprotocol that the server has chosen. */
  readonly chosen: Promise<string>;
}

/**
 * Opens a WebSocket as Go's clients do: `ws` requires subprotocols to be tokens, and that of Kubernetes' tunnel is none.
 * So it believes that none was offered.
 */
export function openWebSocket(url: string, protocol: string, options: ClientOptions = {}): Opening {
  const { promise: chosen, resolve } = Promise.withResolvers<string>();
  const webSocket = new WebSocket(url, [], {
    ...options,
    perMessageDeflate: false,
    headers: { "sec-websocket-protocol": protocol },
    finishRequest: (request) => {
      request.prependListener("upgrade", (answer) => {
        resolve(answer.headers["sec-websocket-protocol"] ?? "");
        delete answer.headers["sec-websocket-protocol"];
      });
      request.end();
    },
  });
  return { webSocket, chosen };
}

/** Resolves once it is open. */
export function onOpen(webSocket: WebSocket): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (webSocket.readyState === WebSocket.OPEN) resolve(undefined);
    webSocket.once("open", resolve);
    webSocket.once("error", reject);
  });
}

/** What a WebSocket brought by channel, and the code it was closed with. */
export interface Gathered {
  readonly channels: ReadonlyMap<number, Buffer>;
  readonly code: number;
}

/** What the channels bring until the WebSocket is closed. */
export function gathered(webSocket: WebSocket): Promise<Gathered> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    webSocket.on("message", (message: Buffer) => parts.push(message));
    webSocket.on("error", reject);
    webSocket.on("close", (code) => {
      const grouped = Map.groupBy(parts, ([channel]) => channel ?? 0);
      const channels = new Map(
        [...grouped].map(([channel, all]) => [
          channel,
          Buffer.concat(all.map((part) => part.subarray(1))),
        ]),
      );
      resolve({ channels, code });
    });
  });
}

/** A message on a channel. */
export function onChannel(channel: number, bytes: Uint8Array | string): Buffer {
  return Buffer.concat([Buffer.of(channel), Buffer.from(bytes)]);
}

/** The status at a command's end. */
export function statusOf({ channels }: Gathered): Readonly<Record<string, unknown>> {
  return JSON.parse(channels.get(3)?.toString() ?? "{}") as Record<string, unknown>;
}
