import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { listen, timeWaitCount } from "../../../test/probes/sockets.ts";
import { tcpConnect } from "./tcp.ts";

const never = new AbortController().signal;

test("tcpConnect connects over both families and leaves nothing in TIME_WAIT", async () => {
  for (const host of ["127.0.0.1", "::1"]) {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
      // A server that speaks first, and one that never does, are the same to a connect.
      socket.write("220 ready\r\n");
    });
    const port = await listen(server, host);
    for (let i = 0; i < 20; i += 1)
      assert.deepEqual(await tcpConnect(host, port, 10_000, never), { kind: "connected" });
    for (let i = 0; i < 500 && sockets.size > 0; i += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(sockets.size, 0);
    assert.equal(timeWaitCount(port), 0);
    server.close();
  }
});

test("tcpConnect names what went wrong as Go does", async () => {
  const server = createServer();
  const port = await listen(server);
  server.close();
  assert.deepEqual(await tcpConnect("127.0.0.1", port, 10_000, never), {
    kind: "failure",
    message: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
  });
  assert.deepEqual(await tcpConnect("no-such-name.invalid", 80, 10_000, never), {
    kind: "failure",
    message: "dial tcp: lookup no-such-name.invalid: no such host",
  });
});

const STOPPED_LISTENER = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    process.stdout.write(String(server.address().port), () => process.kill(process.pid, "SIGSTOP"));
  });
`;

test("tcpConnect times out where nobody answers, and ends early with the signal", async () => {
  const child = spawn(process.execPath, ["-e", STOPPED_LISTENER], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(output.toString());
  // Nobody accepts; once the queue is full the kernel drops what comes.
  const fillers = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  try {
    let answer = await tcpConnect("127.0.0.1", port, 300, never);
    for (let i = 0; i < 20 && answer.kind === "connected"; i += 1) {
      fillers.push(connect(port, "127.0.0.1").on("error", () => {}));
      answer = await tcpConnect("127.0.0.1", port, 300, never);
    }
    assert.deepEqual(answer, {
      kind: "timeout",
      message: `dial tcp 127.0.0.1:${port}: i/o timeout`,
    });
    const stop = new AbortController();
    const early = tcpConnect("127.0.0.1", port, 60_000, stop.signal);
    stop.abort(new Error("enough"));
    await assert.rejects(early, /enough/);
  } finally {
    for (const socket of fillers) socket.destroy();
    child.kill("SIGKILL");
  }
});

test("tcpConnect counts a connection that came in time though the agent was late", async () => {
  const server = createServer((socket) => socket.on("error", () => {})).unref();
  const port = await listen(server);
  // From here the timers come before the sockets.
  await new Promise((resolve) => setImmediate(resolve));
  const answers = [1, 2, 3].map(() => tcpConnect("127.0.0.1", port, 50, never));
  // The kernel connects them meanwhile.
  const until = performance.now() + 200;
  while (performance.now() < until);
  assert.deepEqual(
    (await Promise.all(answers)).map(({ kind }) => kind),
    ["connected", "connected", "connected"],
  );
  assert.equal(timeWaitCount(port), 0);
});

const WITHOUT_DESCRIPTORS = `
  import { execFileSync } from "node:child_process";
  const { tcpConnect } = await import(process.argv[1]);
  const { httpGet } = await import(process.argv[2]);
  const never = new AbortController().signal;
  const reported = [];
  const ask = (call) => call().then(({ kind }) => reported.push(kind), ({ code, message }) => reported.push(code, message));
  const exchange = { url: "http://127.0.0.1:9/", method: "GET", headers: [], timeoutMs: 5000, maxBodyBytes: 10, followSameHost: true };
  await ask(() => tcpConnect("127.0.0.1", 9, 5000, never));
  // Taking all of them would not do: Node itself closes files now and then.
  execFileSync("prlimit", ["--pid=" + process.pid, "--nofile=3"]);
  await ask(() => tcpConnect("127.0.0.1", 9, 5000, never));
  await ask(() => httpGet(exchange, never));
  process.stdout.write(JSON.stringify(reported));
`;

test("a process without descriptors says so, and nothing about the peer", () => {
  const modules = ["./tcp.ts", "./http.ts"].map((name) => join(import.meta.dirname, name));
  const argv = ["--input-type=module", "-e", WITHOUT_DESCRIPTORS, ...modules];
  const out = execFileSync(process.execPath, argv, { encoding: "utf8" });
  const text = "dial tcp 127.0.0.1:9: connect: too many open files";
  assert.deepEqual(JSON.parse(out), ["failure", "exhausted", text, "exhausted", text]);
});
