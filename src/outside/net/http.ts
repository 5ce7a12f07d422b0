import type { Socket } from "node:net";
import { bounded, type HeldSockets, reset } from "./bounded.ts";
import {
  brokenText,
  connectTo,
  dial,
  type HttpTarget,
  PeerError,
  parseHttpTarget,
} from "./dial.ts";
import { type HttpReply, MalformedReply, ReplyReader } from "./http-reply.ts";
import { requestOnce } from "./http2-request.ts";
import { LaxTls } from "./lax-tls.ts";
import type { HttpAnswer, HttpExchange } from "./net.ts";

/** Requests in one exchange, the first included (Go's net/http). */
const MAX_REQUESTS = 10;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const UTF8 = new TextDecoder();

/** Headers that the request line or the framing decide and no caller may. */
const NOT_THEIRS: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "trailer",
]);

/** Headers that HTTP/2 has no place for. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "upgrade",
  "te",
]);

/** Reads of one connection; most answers of pods are smaller. */
const READ_BUFFER_BYTES = 16 * 1024;

/**
 * One GET with everything that belongs to it under one deadline: names, connections, TLS, redirects,
 * body. No proxy, no connection is used twice, nothing is compressed, certificates are not verified.
 * The texts of failures are those of Go's net/http.
 */
export class HttpClient {
  /** Used by one read at a time; one for each connection would be most of the cost of a probe. */
  readonly #buffer = new Uint8Array(READ_BUFFER_BYTES);
  readonly #tls: LaxTls;

  constructor(tls = new LaxTls()) {
    this.#tls = tls;
  }

  get(exchange: HttpExchange, signal: AbortSignal): Promise<HttpAnswer> {
    const at = { url: exchange.url };
    return bounded<HttpAnswer>(
      {
        timeoutMs: exchange.timeoutMs,
        signal,
        onTimeout: () => ({
          kind: "timeout",
          message: `Get ${quote(at.url)}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
        }),
      },
      async (held) => {
        try {
          return await this.#follow(exchange, held, at);
        } catch (error) {
          if (error instanceof PeerError || error instanceof MalformedReply) {
            return { kind: "failure", message: `Get ${quote(at.url)}: ${error.message}` };
          }
          throw error;
        }
      },
    );
  }

  /** Requests until an answer is no redirect that may be followed; keeps `at` on the URL being asked. */
  async #follow(
    exchange: HttpExchange,
    held: HeldSockets,
    at: { url: string },
  ): Promise<HttpAnswer> {
    let host = lastHeader(exchange, "host");
    let referer: string | undefined;
    const first = mustParse(at.url);
    for (let requests = 1; ; requests += 1) {
      const target = requests === 1 ? first : mustParse(at.url);
      const head = headOf(exchange, target, { host, referer });
      const reply = await this.#request(target, head, exchange, held);
      const next = exchange.followSameHost ? redirectOf(reply, at.url) : undefined;
      if (next === undefined || next.hostname !== first.host) {
        return {
          kind: "response",
          status: reply.status,
          body: UTF8.decode(reply.body),
          redirectedAway: next !== undefined,
        };
      }
      if (requests === MAX_REQUESTS) {
        at.url = reply.location ?? at.url;
        throw new PeerError(`stopped after ${MAX_REQUESTS} redirects`);
      }
      referer = target.secure && !next.secure ? undefined : at.url.replace(/#.*/, "");
      // A name given by the caller survives only where the server named none itself.
      if (next.absolute) host = undefined;
      at.url = next.url;
    }
  }

  async #request(
    target: HttpTarget,
    head: Head,
    { maxBodyBytes, http2 = false }: HttpExchange,
    held: HeldSockets,
  ): Promise<HttpReply> {
    if (!target.secure && !http2)
      return await this.#requestPlain(target, head.text, maxBodyBytes, held);
    const raw = await dial(target.host, target.port, held);
    if (!target.secure) return await requestTwo(raw, target, head, maxBodyBytes);
    const { host, port } = target;
    const socket = await this.#tls.secure(raw, { host, port, protocols: ["h2", "http/1.1"] });
    const reply =
      socket.alpnProtocol === "h2"
        ? await requestTwo(socket, target, head, maxBodyBytes)
        : await requestOne(socket, target, head, maxBodyBytes);
    if (reply.complete) held.leave(raw);
    return reply;
  }

  /** One request over TCP, which is what nearly all probes are: the bytes are taken from below the stream. */
  #requestPlain(
    target: HttpTarget,
    text: string,
    maxBodyBytes: number,
    held: HeldSockets,
  ): Promise<HttpReply> {
    const reader = new ReplyReader(maxBodyBytes);
    let isOver = false;
    return new Promise((resolve, reject) => {
      const step = (read: () => HttpReply | undefined) => {
        try {
          const reply = read();
          if (reply === undefined) return;
          isOver = true;
          if (reply.complete) held.leave(socket);
          resolve(reply);
        } catch (error) {
          isOver = true;
          reject(error as Error);
        }
      };
      const socket = connectTo(target.host, target.port, held, {
        onConnect: () => socket.write(text, "utf8"),
        onDialError: reject,
        onBroken: (error) => reject(new PeerError(brokenText(target.host, target.port, error))),
        onBytes: {
          buffer: this.#buffer,
          take: (bytes) => {
            if (isOver) reset(socket);
            else step(() => reader.push(bytes));
          },
        },
      });
      socket.once("end", () => {
        if (!isOver) step(() => reader.end());
      });
    });
  }
}

function mustParse(url: string): HttpTarget {
  const target = parseHttpTarget(url);
  if (target) return target;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1];
  if (scheme !== undefined && !/^https?$/i.test(scheme)) {
    throw new PeerError(`unsupported protocol scheme ${quote(scheme)}`);
  }
  throw new PeerError("http: no Host in request URL");
}

interface Redirect {
  readonly url: string;
  readonly hostname: string;
  readonly secure: boolean;
  readonly absolute: boolean;
}

function redirectOf(reply: HttpReply, from: string): Redirect | undefined {
  const { location } = reply;
  if (!REDIRECTS.has(reply.status) || location === undefined || location === "") return undefined;
  let url: URL;
  try {
    url = new URL(location, from);
  } catch {
    throw new PeerError(`failed to parse Location header ${quote(location)}`);
  }
  return {
    url: url.href,
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    secure: url.protocol === "https:",
    absolute: /^[a-z][a-z0-9+.-]*:/i.test(location),
  };
}

function lastHeader(exchange: HttpExchange, name: string): string | undefined {
  const value = exchange.headers.find((header) => header.name.toLowerCase() === name)?.value;
  return value === "" ? undefined : value;
}

interface Extra {
  readonly host: string | undefined;
  readonly referer: string | undefined;
}

type HeaderList = readonly (readonly [name: string, value: string])[];

function headersOf(exchange: HttpExchange, extra: Extra): HeaderList {
  const list: (readonly [string, string])[] = [];
  for (const { name, value } of exchange.headers) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      throw new PeerError(`net/http: invalid header field name ${quote(name)}`);
    }
    if (/[^\P{Cc}\t]/u.test(value)) {
      throw new PeerError(`net/http: invalid header field value for ${quote(canonical(name))}`);
    }
    if (!NOT_THEIRS.has(name.toLowerCase())) list.push([canonical(name), value.trim()]);
  }
  const hasReferer = list.some(([name]) => name === "Referer");
  if (extra.referer !== undefined && !hasReferer) list.push(["Referer", extra.referer]);
  return list;
}

/** `x-some-name` as `X-Some-Name`: what Go's client sends, and what servers of pods have seen so far. */
function canonical(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Of one request: for HTTP/2 in parts, for HTTP/1 as it is sent. */
interface Head {
  readonly authority: string;
  readonly headers: HeaderList;
  readonly text: string;
}

function headOf(exchange: HttpExchange, target: HttpTarget, extra: Extra): Head {
  const headers = headersOf(exchange, extra);
  const authority = extra.host ?? target.authority;
  const isUpgrade = headers.some(([name]) => name === "Upgrade");
  const lines = [
    `GET ${target.path} HTTP/1.1`,
    `Host: ${authority}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(isUpgrade ? [] : ["Connection: close"]),
  ];
  return { authority, headers, text: `${lines.join("\r\n")}\r\n\r\n` };
}

function requestOne(
  socket: Socket,
  target: HttpTarget,
  head: Head,
  maxBodyBytes: number,
): Promise<HttpReply> {
  const reader = new ReplyReader(maxBodyBytes);
  return new Promise((resolve, reject) => {
    const step = (read: () => HttpReply | undefined) => {
      try {
        const reply = read();
        if (reply === undefined) return;
        socket.off("data", onData);
        resolve(reply);
      } catch (error) {
        reject(error as Error);
      }
    };
    const onData = (bytes: Buffer) => step(() => reader.push(bytes));
    socket.on("data", onData);
    socket.once("end", () => step(() => reader.end()));
    socket.once("error", (error) =>
      reject(new PeerError(brokenText(target.host, target.port, error))),
    );
    socket.once("close", () => reject(new PeerError("EOF")));
    socket.write(head.text, "utf8");
  });
}

async function requestTwo(
  socket: Socket,
  target: HttpTarget,
  head: Head,
  maxBodyBytes: number,
): Promise<HttpReply> {
  const headers = head.headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !CONNECTION_HEADERS.has(name));
  const reply = await requestOnce(socket, {
    headers: [
      [":method", "GET"],
      [":scheme", target.secure ? "https" : "http"],
      [":authority", head.authority],
      [":path", target.path],
      ...headers,
    ],
    maxBodyBytes,
  });
  return {
    status: reply.status,
    location: reply.headers["location"],
    body: reply.body,
    complete: false,
  };
}

/** A string in quotes as Go's `%q` writes it, near enough for URLs and header names. */
function quote(text: string): string {
  return JSON.stringify(text);
}
