// A client for tests that owes nothing to the client under test: one HTTPS connection for each request.
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Identity } from "./pki.ts";

export interface AdminReply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Parsed JSON, or the text when it is none. */
  readonly body: unknown;
}

export interface AdminTarget {
  readonly dial: () => Promise<Socket>;
  readonly caPem: string;
  readonly identity?: Identity;
  readonly serverName: string;
}

export interface AdminRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly token?: string;
  readonly accept?: string;
}

const TIMEOUT_MS = 30_000;

export async function adminRequest(target: AdminTarget, asked: AdminRequest): Promise<AdminReply> {
  const raw = await target.dial();
  const socket = connectTls({
    socket: raw,
    ca: target.caPem,
    checkServerIdentity: () => undefined,
    ...(target.identity
      ? { cert: target.identity.certificatePem, key: target.identity.privateKeyPem }
      : {}),
  });
  socket.on("error", () => {});
  // Also while the handshake is under way, which the request's own timeout does not cover: a stopped server takes connections.
  socket.setTimeout(TIMEOUT_MS, () =>
    socket.destroy(new Error(`no answer to ${asked.method} ${asked.path}`)),
  );
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  try {
    return await new Promise((resolve, reject) => {
      const call = request({
        createConnection: () => socket,
        method: asked.method,
        path: asked.path,
        host: target.serverName,
        headers: {
          accept: asked.accept ?? "application/json",
          ...(body === undefined
            ? {}
            : {
                "content-type": asked.contentType ?? "application/json",
                "content-length": Buffer.byteLength(body),
              }),
          ...(asked.token === undefined ? {} : { authorization: `Bearer ${asked.token}` }),
        },
      });
      call.once("error", reject);
      call.once("response", (response) => read(response).then(resolve, reject));
      call.end(body);
    });
  } finally {
    socket.destroy();
    raw.destroy();
  }
}

async function read(response: IncomingMessage): Promise<AdminReply> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString("utf8");
  return { status: response.statusCode ?? 0, headers: response.headers, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
