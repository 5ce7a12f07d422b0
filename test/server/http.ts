/** HTTP listeners for tests on loopback, and asking them. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type Server } from "node:net";
import { createListen } from "../../src/outside/net/serve/http-listener.ts";
import type {
  Exchange,
  HttpListener,
  ListenLimits,
  ListenOptions,
  ListenProblem,
} from "../../src/outside/net/serve/listen.ts";

/** Limits that no test reaches by itself. */
export const LIMITS: ListenLimits = {
  headerBytes: 64 * 1024,
  headerMs: 30_000,
  requestMs: 60_000,
  handshakeMs: 10_000,
  idleMs: 90_000,
  stalledMs: 60_000,
  connections: 100,
};

/** A listener of a test. */
export interface Started extends AsyncDisposable {
  readonly listener: HttpListener;
  readonly port: number;
  readonly problems: ListenProblem[];
}

/** Listens on a free port of loopback. */
export async function start(
  onExchange: (exchange: Exchange) => Promise<void>,
  more: Partial<ListenOptions> = {},
): Promise<Started> {
  const problems: ListenProblem[] = [];
  const listener = await createListen()({
    address: { kind: "tcp", host: "127.0.0.1", port: 0 },
    limits: LIMITS,
    mayUpgrade: () => true,
    onExchange,
    onProblem: (problem) => problems.push(problem),
    ...more,
  });
  return {
    listener,
    port: listener.address.kind === "tcp" ? listener.address.port : 0,
    problems,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/** An answer as a whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Sends a request and reads the whole answer. */
export function answerOf(asked: ClientRequest, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    asked.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
      );
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Asks once, over a connection of its own. */
export function ask(options: RequestOptions, body?: string, secure = false): Promise<Answer> {
  const request = secure ? httpsRequest : httpRequest;
  return answerOf(request({ agent: false, ...options }), body);
}

/** Everything a raw connection answers to `text` until it ends. */
export function rawAnswer(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}

/** Listens on a free port and resolves with it. */
export function listenOn(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : 0);
    });
  });
}
