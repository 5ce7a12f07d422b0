import { type IncomingMessage, request } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isIPv4, isIPv6 } from "../../../api/text/ip.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { timerMs } from "../../../kit/timing/bounded-durations.ts";
import { shortText } from "../short-text.ts";

/** Headers that matter to the runtime's streaming server; credentials are not forwarded. */
const PASSED_ON = new Set([
  "connection",
  "upgrade",
  "content-length",
  "origin",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
  "user-agent",
  "x-stream-protocol-version",
]);

/** How long the runtime's server may take to switch protocols; it does so before it does any work. */
const SWITCH_WITHIN_MS = 30_000;

/** Answer of a streaming server to an upgrade request. */
export type UpgradeAnswer =
  | {
      readonly kind: "switched";
      /** Header lines of the 101, without the empty line at the end. */
      readonly head: string;
      /** Its protocol, in lower case. */
      readonly upgrade: string;
      /** Subprotocol chosen by the server. */
      readonly streamProtocol: string | undefined;
      readonly socket: Duplex;
      /** Bytes that followed it. */
      readonly early: Buffer;
    }
  | { readonly kind: "refused"; readonly status: number; readonly text: string };

/** The URL of a streaming server when it may be talked to: plain HTTP on this machine's loopback. */
export function loopbackUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new OutsideError("denied", "the runtime returned an invalid URL", {
      cause: error,
    });
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isLoopback =
    host === "localhost" ||
    (isIPv4(host) && host.startsWith("127.")) ||
    (isIPv6(host) && host === "::1");
  if (url.protocol !== "http:" || !isLoopback || url.username !== "" || url.password !== "") {
    throw new OutsideError(
      "denied",
      `the runtime's streaming server is at ${url.protocol}//${url.host}; only plain HTTP on loopback is used`,
    );
  }
  return url;
}

/** Address of a streaming server: the host of its URL, or a unix socket. */
export interface SwitchTarget {
  readonly url: URL;
  readonly socketPath?: string;
}

/** An HTTP upgrade request to a streaming server. */
interface UpgradeRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string[]>>;
}

/** The upgrade request of a client, for the upstream server. */
export function upgradeRequestOf(from: IncomingMessage): UpgradeRequest {
  return { method: from.method ?? "GET", headers: passedOn(from) };
}

/** An upgrade request for SPDY/3.1 with one of `streamProtocols` over it, best first. */
export function spdyUpgradeRequest(streamProtocols: readonly string[]): UpgradeRequest {
  return {
    method: "POST",
    headers: {
      connection: ["Upgrade"],
      upgrade: ["SPDY/3.1"],
      "content-length": ["0"],
      "x-stream-protocol-version": [...streamProtocols],
    },
  };
}

/** Asks the streaming server at `target` to switch protocols. */
export function requestUpgrade(
  { url, socketPath }: SwitchTarget,
  { method, headers }: UpgradeRequest,
  signal: AbortSignal,
): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({
      ...(socketPath === undefined ? {} : { socketPath }),
      host: url.hostname === "localhost" ? "127.0.0.1" : url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? 80 : url.port,
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers, host: url.host },
      agent: false,
      signal,
    });
    const timer = setTimeout(
      () => asked.destroy(new Error(`no response within ${SWITCH_WITHIN_MS / 1000} s`)),
      SWITCH_WITHIN_MS,
    );
    asked.once("close", () => clearTimeout(timer));
    asked.once("upgrade", (answer, socket, early) => {
      clearTimeout(timer);
      // Node listens no longer, and whoever gets the connection may do so only after other work; its end shows in `destroyed`.
      socket.on("error", () => {});
      const streamProtocol = answer.headersDistinct["x-stream-protocol-version"]?.[0];
      const upgrade = (answer.headers.upgrade ?? "").toLowerCase();
      resolve({ kind: "switched", head: headOf(answer), upgrade, streamProtocol, socket, early });
    });
    asked.once("response", (answer) => {
      refusal(answer).then(resolve, reject);
    });
    asked.once("error", (error) => {
      const message = `the runtime's streaming server: ${messageOf(error)}`;
      reject(
        signal.aborted ? signal.reason : new OutsideError("unavailable", message, { cause: error }),
      );
    });
    asked.end();
  });
}

/** Every value of a repeated header is passed on as a line of its own: some servers do not split commas. */
function passedOn(from: IncomingMessage): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const [name, values] of Object.entries(from.headersDistinct)) {
    if (PASSED_ON.has(name) && values) headers[name] = values;
  }
  return headers;
}

function headOf(answer: IncomingMessage): string {
  let head = "HTTP/1.1 101 Switching Protocols\r\n";
  for (let i = 0; i < answer.rawHeaders.length; i += 2)
    head += `${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}\r\n`;
  return head;
}

/** An error is passed on; any other answer, a redirect above all, is not what was asked for. */
async function refusal(answer: IncomingMessage): Promise<UpgradeAnswer> {
  const status = answer.statusCode ?? 0;
  if (status < 400) {
    answer.destroy();
    throw new OutsideError("unavailable", `invalid upgrade response: status code ${status}`, {
      retryable: false,
    });
  }
  return { kind: "refused", status, text: await shortText(answer) };
}

/** How long a peer may still send after the answer; a reset meanwhile would lose the end of the answer. */
const LINGER_MS = 1_000;

/**
 * Copies bytes between the two until both are closed. Each end of one is passed on to the other behind
 * the bytes that came before it; an abrupt end, `signal`, and `idleMs` without a byte cut both.
 */
export function joinSockets(
  near: Duplex,
  far: Duplex,
  bounds: { readonly idleMs: number; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve) => {
    const cut = () => {
      near.destroy();
      far.destroy();
    };
    let open = 2;
    const onClose = (other: Duplex) => {
      endThenDestroy(other);
      open -= 1;
      if (open > 0) return;
      bounds.signal.removeEventListener("abort", cut);
      resolve();
    };
    near.once("close", () => onClose(far));
    far.once("close", () => onClose(near));
    near.on("error", cut);
    far.on("error", cut);
    near.pipe(far);
    far.pipe(near);
    if (bounds.idleMs > 0 && near instanceof Socket) near.setTimeout(timerMs(bounds.idleMs), cut);
    bounds.signal.addEventListener("abort", cut, { once: true });
    if (bounds.signal.aborted) cut();
  });
}

/** Lets go of a socket once what was to be sent is sent; what it still brings is of no interest. */
export function endThenDestroy(socket: Duplex): void {
  if (socket.destroyed) return;
  const destroy = () => socket.destroy();
  const linger = () => {
    const timer = setTimeout(destroy, LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
    socket.once("end", destroy);
    socket.resume();
  };
  if (socket.writableFinished) linger();
  else socket.once("finish", linger);
  if (!socket.writableEnded) socket.end();
}
