import assert from "node:assert/strict";
import { createServer as createHttp } from "node:http";
import {
  createServer as createH2,
  createSecureServer as createSecureH2,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import type { Container, Probe } from "../../src/api/generated/types.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { ExecResult } from "../../src/outside/cri/cri.ts";
import { VersionResponse } from "../../src/outside/cri/generated/api.ts";
import { connectNet } from "../../src/outside/net/connect-net.ts";
import { expandCommand } from "../../src/subsystems/probes/handlers/exec.ts";
import type { ProbeOutcome } from "../../src/subsystems/probes/outcome.ts";
import { runProbe } from "../../src/subsystems/probes/run-probe.ts";
import { TEST_CERTIFICATE } from "./certificate.ts";
import { listen } from "./sockets.ts";
import { exited } from "./world.ts";

const never = new AbortController().signal;
const net = connectNet();
const clock = createSystemClock();
const servers = new Set<Server>();
const sockets = new Set<Socket>();

function track<S extends Server>(server: S): S {
  servers.add(server);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  return server;
}

afterEach(() => {
  for (const server of servers) server.close();
  for (const socket of sockets) socket.destroy();
  servers.clear();
});

interface Setting {
  readonly container?: Partial<Container>;
  readonly timeoutMs?: number;
  readonly exec?: (command: readonly string[], seconds: number) => ExecResult;
  /** Whether probes may ask for HTTP/2 and TLS. */
  readonly gates?: boolean;
}

async function attempt(probe: Probe, setting: Setting = {}): Promise<ProbeOutcome> {
  return await runProbe(
    {
      net,
      clock,
      protocols: { http2: setting.gates ?? false, grpcTls: setting.gates ?? false },
      runtime: {
        execSync: async (id, command, seconds) => {
          assert.equal(id, "c1");
          return setting.exec?.(command, seconds) ?? exited(0);
        },
        version: async () => VersionResponse.fromPartial({}),
      },
    },
    {
      probe,
      container: { name: "app", ...setting.container },
      podUid: "uid-1",
      containerId: "c1",
      owner: setting,
      endLeftovers: true,
      podIp: "127.0.0.1",
      podText: "web_default(uid-1)",
      timeoutMs: setting.timeoutMs ?? 10_000,
    },
    never,
  );
}

const failure = (output: string, timedOut = false): ProbeOutcome => ({
  kind: "failure",
  output,
  timedOut,
});

const closedPort = async () => {
  const server = createServer();
  const port = await listen(server);
  server.close();
  return port;
};

test("httpGet: 200 to 299 is success with the body, 300 to 399 a warning, all else failure without it", async () => {
  const server = createHttp((request, reply) => {
    const status = Number(request.url?.slice(1));
    if (status === 302) reply.setHeader("location", "http://elsewhere.invalid/");
    reply.writeHead(status).end(`body of ${status}`);
  });
  const port = await listen(track(server));
  const get = (path: string) => attempt({ httpGet: { port, path } });
  assert.deepEqual(await get("/200"), { kind: "success", output: "body of 200" });
  assert.deepEqual(await get("/299"), { kind: "success", output: "body of 299" });
  for (const status of [300, 302, 399]) {
    assert.deepEqual(await get(`/${status}`), {
      kind: "warning",
      output: `Probe terminated redirects, Response body: body of ${status}`,
    });
  }
  for (const status of [400, 404, 500, 503])
    assert.deepEqual(
      await get(`/${status}`),
      failure(`HTTP probe failed with statuscode: ${status}`),
    );
});

test("httpGet: sends what the spec says to the named port, with the probe's user agent", async () => {
  const server = createHttp((request, reply) =>
    reply.end(`${request.url} ${request.rawHeaders.join("|")}`),
  );
  const port = await listen(track(server));
  const outcome = await attempt(
    {
      httpGet: {
        port: "web",
        path: "/healthz?full=1",
        host: "localhost",
        scheme: "HTTP",
        httpHeaders: [
          { name: "Host", value: "app.example" },
          { name: "X-Probe", value: "1" },
        ],
      },
    },
    { container: { ports: [{ name: "web", containerPort: port }] } },
  );
  assert.deepEqual(outcome, {
    kind: "success",
    output:
      "/healthz?full=1 Host|app.example|User-Agent|kube-probe/1.37|Accept|*/*|X-Probe|1|Connection|close",
  });
});

test("httpGet: keeps 10 KiB of the body", async () => {
  const port = await listen(track(createHttp((_, reply) => reply.end("x".repeat(100_000)))));
  const outcome = await attempt({ httpGet: { port } });
  assert.ok(outcome.kind === "success" && outcome.output.length === 10_240);
});

test("httpGet: a path that makes a URL without a host is a failure, and nothing is asked", async () => {
  let asked = 0;
  const port = await listen(
    track(
      createHttp((_, reply) => {
        asked += 1;
        reply.end();
      }),
    ),
  );
  assert.deepEqual(
    await attempt({ httpGet: { port, path: "foo:bar" } }),
    failure('Get "http:bar": http: no Host in request URL'),
  );
  assert.equal(asked, 0);
  assert.equal((await attempt({ httpGet: { port, path: "/foo:bar" } })).kind, "success");
});

test("httpGet: an error of the client is a failure, a port that does not exist an error", async () => {
  const port = await closedPort();
  assert.deepEqual(
    await attempt({ httpGet: { port, path: "/x" } }),
    failure(
      `Get "http://127.0.0.1:${port}/x": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    ),
  );
  const silent = await listen(track(createServer()));
  assert.deepEqual(
    await attempt({ httpGet: { port: silent } }, { timeoutMs: 100 }),
    failure(
      `Get "http://127.0.0.1:${silent}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
      true,
    ),
  );
  assert.deepEqual(await attempt({ httpGet: { port: "http" } }), {
    kind: "error",
    message: 'port "http" not found',
  });
});

test("tcpSocket: a connection is success, anything else failure", async () => {
  const port = await listen(track(createServer()));
  assert.deepEqual(await attempt({ tcpSocket: { port } }), { kind: "success", output: "" });
  const closed = await closedPort();
  assert.deepEqual(
    await attempt({ tcpSocket: { port: closed } }),
    failure(`dial tcp 127.0.0.1:${closed}: connect: connection refused`),
  );
  assert.deepEqual(
    await attempt({ tcpSocket: { port, host: "no-such-name.invalid" } }),
    failure("dial tcp: lookup no-such-name.invalid: no such host"),
  );
  assert.deepEqual(await attempt({ tcpSocket: { port: 0 } }), {
    kind: "error",
    message: "invalid port number: 0",
  });
});

test("tcpSocket: two attempts at one moment make one connection, later ones their own", async () => {
  let connections = 0;
  const server = track(createServer());
  server.on("connection", () => {
    connections += 1;
  });
  const port = await listen(server);
  const gone = await closedPort();
  const success: ProbeOutcome = { kind: "success", output: "" };
  const probe: Probe = { tcpSocket: { port } };
  assert.deepEqual(await Promise.all([attempt(probe), attempt(probe)]), [success, success]);
  assert.deepEqual(await attempt(probe), success);
  const refused = failure(`dial tcp 127.0.0.1:${gone}: connect: connection refused`);
  const closed: Probe = { tcpSocket: { port: gone } };
  assert.deepEqual(await Promise.all([attempt(closed), attempt(closed)]), [refused, refused]);
  while (connections < 2) await new Promise(setImmediate);
  assert.equal(connections, 2);
});

function health(answer: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = createH2().on("stream", (stream: ServerHttp2Stream) => {
    // A probe that gave up resets the connection.
    stream.on("error", () => {});
    answer(stream);
  });
  return listen(track(server));
}

function reply(stream: ServerHttp2Stream, state: number, status = "0"): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  const trailers = { "grpc-status": status, "grpc-message": "as asked" };
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(status === "0" ? Buffer.from([0, 0, 0, 0, 2, 8, state]) : undefined);
}

test("httpGet and grpc: the protocol that the probe asks for, with the feature gates only", async () => {
  const h2c = await listen(track(createH2((_, response) => response.end("two"))));
  const http1 = await listen(track(createHttp((_, response) => response.end("one"))));
  const http = (port: number, protocol: string, gates: boolean) =>
    attempt({ httpGet: { port, protocol } }, { gates, timeoutMs: 2_000 });
  assert.deepEqual(await http(h2c, "HTTP2", true), { kind: "success", output: "two" });
  assert.equal((await http(http1, "HTTP2", true)).kind, "failure");
  for (const [protocol, gates] of [
    ["HTTP2", false],
    ["HTTP1", true],
    ["HTTP1", false],
  ] as const) {
    assert.deepEqual(await http(http1, protocol, gates), { kind: "success", output: "one" });
    assert.equal((await http(h2c, protocol, gates)).kind, "failure");
  }
  const secure = createSecureH2(TEST_CERTIFICATE);
  secure.on("stream", (stream: ServerHttp2Stream) => reply(stream, 1));
  const port = await listen(track(secure));
  const grpc = (mode: string, gates: boolean) =>
    attempt({ grpc: { port, mode } }, { gates, timeoutMs: 500 });
  assert.deepEqual(await grpc("TLS", true), { kind: "success", output: "service healthy" });
  for (const [mode, gates] of [
    ["TLS", false],
    ["Plaintext", true],
  ] as const)
    assert.equal((await grpc(mode, gates)).kind, "failure");
});

test("grpc: SERVING is success, every other answer a failure with the Go kubelet's text", async () => {
  const at = async (answer: (stream: ServerHttp2Stream) => void, timeoutMs = 10_000) =>
    await attempt({ grpc: { port: await health(answer), service: "s" } }, { timeoutMs });
  assert.deepEqual(await at((stream) => reply(stream, 1)), {
    kind: "success",
    output: "service healthy",
  });
  assert.deepEqual(
    await at((stream) => reply(stream, 2)),
    failure('service unhealthy (responded with "NOT_SERVING")'),
  );
  assert.deepEqual(
    await at((stream) => reply(stream, 0, "12")),
    failure(
      "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): as asked",
    ),
  );
  assert.deepEqual(
    await at((stream) => reply(stream, 0, "5")),
    failure("error: health rpc probe failed: rpc error: code = NotFound desc = as asked"),
  );
  assert.deepEqual(
    await at(() => {}, 1000),
    failure("timeout: health rpc did not complete within 1s", true),
  );
  const silent = await listen(track(createServer()));
  assert.deepEqual(
    await attempt({ grpc: { port: silent } }, { timeoutMs: 1000 }),
    failure(
      `timeout: failed to connect service "127.0.0.1:${silent}" within 1s: context deadline exceeded`,
      true,
    ),
  );
});

test("exec: exit status 0 is success, others failure, with both outputs up to 10 KiB", async () => {
  const at = (exec: (command: readonly string[], seconds: number) => ExecResult) =>
    attempt({ exec: { command: ["sh", "-c", "check"] } }, { exec, timeoutMs: 5000 });
  const success = await at((command, seconds) => {
    assert.deepEqual([command, seconds], [["sh", "-c", "check"], 5]);
    return exited(0, "out", "err");
  });
  assert.deepEqual(success, { kind: "success", output: "outerr" });
  assert.deepEqual(await at(() => exited(127, "", "not found")), failure("not found"));
  for (const [stdout, stderr] of [
    [20_000, 5],
    [5, 20_000],
    [10_000, 10_000],
  ] as const) {
    const long = await at(() => exited(1, "o".repeat(stdout), "e".repeat(stderr)));
    const wanted = `${"o".repeat(stdout)}${"e".repeat(stderr)}`.slice(0, 10_240);
    assert.deepEqual(long, failure(wanted));
  }
  const binary = await at(() => ({ ...exited(1), stdout: Uint8Array.from([255, 104]) }));
  assert.deepEqual(binary, failure("\ufffdh"));
});

test("exec: a deadline is a failure, any other error of the runtime an error after three tries", async () => {
  const probe: Probe = { exec: { command: ["sh", "-c", 'say "hi"'] } };
  const throwing = (code: "deadline" | "notFound") => {
    let calls = 0;
    const outcome = attempt(probe, {
      timeoutMs: 90_000,
      exec: () => {
        calls += 1;
        throw new OutsideError(code, "rpc error");
      },
    });
    return outcome.then((value) => [value, calls]);
  };
  assert.deepEqual(await throwing("deadline"), [
    failure('command timed out: "sh -c say \\"hi\\"" timed out after 1m30s', true),
    1,
  ]);
  assert.deepEqual(await throwing("notFound"), [{ kind: "error", message: "rpc error" }, 3]);
});

test("expandCommand knows only values that stand in the spec", () => {
  const container: Container = {
    name: "app",
    env: [
      { name: "PORT", value: "80" },
      { name: "NESTED", value: "$(PORT)" },
      { name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    ],
  };
  const command = ["$(PORT)", "$$(PORT)", "$(NESTED)", "[$(SECRET)]", "$(MISSING)", "$PORT"];
  assert.deepEqual(expandCommand(command, container), [
    ...["80", "$(PORT)", "$(PORT)", "[]", "$(MISSING)", "$PORT"],
  ]);
});

test("a probe without a handler is an error", async () => {
  assert.deepEqual(await attempt({}), {
    kind: "error",
    message: "missing probe handler for web_default(uid-1):app",
  });
});
