/** SPDY inside a WebSocket: binary messages one way and the other are a connection of SPDY, cut anywhere. */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { closeWebSocket, letGo, messageBytes, sendFrom, writeFrom } from "./web-socket.ts";

/** RFC 6455, 7.4.1 */
const CLOSE_UNSUPPORTED_DATA = 1003;

/** Copies between the two until both are closed; the end of one ends the other behind what came before it. */
export function joinTunnel(
  webSocket: WebSocket,
  far: { readonly socket: Duplex; readonly early: Buffer },
  signal: AbortSignal,
): Promise<void> {
  const { socket } = far;
  return new Promise((resolve) => {
    const cut = () => {
      webSocket.terminate();
      socket.destroy();
    };
    webSocket.on("message", (data, isBinary) => {
      if (!isBinary)
        closeWebSocket(webSocket, CLOSE_UNSUPPORTED_DATA, "only binary messages are supported");
      else if (!socket.writableEnded) writeFrom(webSocket, socket, [messageBytes(data)]);
    });
    webSocket.on("error", cut);
    webSocket.once("close", () => {
      signal.removeEventListener("abort", cut);
      letGo(socket);
      resolve();
    });
    socket.on("data", (chunk: Buffer) => sendFrom(socket, webSocket, chunk));
    socket.on("error", cut);
    socket.once("end", () => closeWebSocket(webSocket));
    socket.once("close", () => closeWebSocket(webSocket));
    signal.addEventListener("abort", cut, { once: true });
    if (signal.aborted || socket.destroyed) cut();
    if (far.early.length > 0) sendFrom(socket, webSocket, far.early);
    webSocket.resume();
  });
}
