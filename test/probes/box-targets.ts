/**
 * Targets of the probes of integration tests: `node box-targets.ts <address>`, inside a box. Ports are
 * fixed. HTTP, TCP and gRPC answer well until their port is taken back by a line on standard input,
 * `down http`, and again after `up http`. Prints `ready`.
 */
import { createServer as createHttp, type ServerResponse } from "node:http";
import { createServer as createH2, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";

/** Ports of the targets that can be taken away. */
export const PORTS = { http: 9001, tcp: 9002, grpc: 9003 } as const;

/** Ports of targets that never answer as they should, with what they do. */
export const HOSTILE = {
  endless: 9101,
  redirects: 9102,
  headers: 9103,
  drip: 9104,
  reset: 9105,
  binary: 9106,
  silent: 9107,
  huge: 9108,
} as const;

const CHUNK = Buffer.alloc(64 * 1024, "x");

/** Writes for as long as the peer takes it. */
function pour(socket: Writable): void {
  while (!socket.destroyed) {
    if (socket.write(CHUNK)) continue;
    socket.once("drain", () => pour(socket));
    return;
  }
}

const speak = (onRequest: (socket: Socket) => void): Server =>
  createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => onRequest(socket));
  });

const HOSTILE_SERVERS: Readonly<Record<keyof typeof HOSTILE, () => Server>> = {
  endless: () =>
    createHttp((_, reply: ServerResponse) => {
      reply.on("error", () => {});
      pour(reply);
    }),
  redirects: () =>
    createHttp((request, reply) => {
      const n = Number(request.url?.slice(1) ?? 0) || 0;
      reply.writeHead(302, { location: `/${n + 1}` }).end();
    }),
  headers: () =>
    speak((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nX-Bomb: ");
      pour(socket);
    }),
  drip: () =>
    speak((socket) => {
      const bytes = [..."HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"];
      const timer = setInterval(() => {
        const next = bytes.shift();
        if (next === undefined || socket.destroyed) clearInterval(timer);
        else socket.write(next);
      }, 200);
    }),
  reset: () =>
    speak((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", () =>
        socket.resetAndDestroy(),
      );
    }),
  binary: () =>
    createHttp((_, reply) => {
      reply.writeHead(500).end(Buffer.from(Array.from({ length: 4096 }, (__, i) => i % 256)));
    }),
  silent: () => createServer((socket) => socket.on("error", () => {})),
  huge: () =>
    createHttp((_, reply) => {
      reply.on("error", () => {});
      reply.writeHead(200, { "content-length": String(2 ** 30) });
      pour(reply);
    }),
};

function healthServer(): Server {
  return createH2().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond(
      { ":status": 200, "content-type": "application/grpc" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  });
}

const GOOD_SERVERS: Readonly<Record<keyof typeof PORTS, () => Server>> = {
  http: () => createHttp((_, reply) => reply.writeHead(200, { connection: "close" }).end("ok")),
  tcp: () => createServer((socket) => socket.on("error", () => {})),
  grpc: healthServer,
};

function open(server: Server, port: number, address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => resolve(server));
  });
}

async function serve(address: string): Promise<void> {
  const running = new Map<string, Server>();
  const change = async (word: string, name: keyof typeof PORTS) => {
    running.get(name)?.close();
    running.delete(name);
    if (word === "up") running.set(name, await open(GOOD_SERVERS[name](), PORTS[name], address));
    process.stdout.write(`${word} ${name}\n`);
  };
  for (const [name, make] of Object.entries(HOSTILE_SERVERS))
    await open(make(), HOSTILE[name as keyof typeof HOSTILE], address);
  for (const name of Object.keys(PORTS)) await change("up", name as keyof typeof PORTS);
  process.stdout.write("ready\n");
  for await (const line of createInterface(process.stdin)) {
    const [word = "", name = ""] = line.split(" ");
    await change(word, name as keyof typeof PORTS);
  }
}

const [address] = process.argv.slice(2);
if (import.meta.main && address !== undefined) await serve(address);
