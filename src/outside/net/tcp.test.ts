import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { listen, timeWaitCount } from "../../../test/probes/sockets.ts";
import { loadSystemSockets, type SystemSockets } from "./system-sockets.ts";
import { createTcpConnect } from "./tcp.ts";

const never = new AbortController().signal;
const MODULE = join(import.meta.dirname, "tcp.ts");

/** The same contract holds for both ways. */
const WAYS = [
  { way: "by system calls", tcpConnect: createTcpConnect() },
  { way: "by a socket of Node", tcpConnect: createTcpConnect(() => undefined) },
] as const;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const STOPPED_LISTENER = `
  const server = require("node:net").createServer((socket) => socket.on("error", () => {}));
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    process.stdout.write(String(server.address().port), () => process.kill(process.pid, "SIGSTOP"));
  });
`;

/** A port whose queue is full, so that the kernel drops what comes, until `resume`. */
async function fullListener() {
  const child = spawn(process.execPath, ["-e", STOPPED_LISTENER], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(output.toString());
  // Until it is stopped it takes what comes.
  while (!/\) T /.test(readFileSync(`/proc/${child.pid}/stat`, "utf8"))) await pause(5);
  const fillers: Socket[] = [];
  const connects = async () => {
    const filler = connect(port, "127.0.0.1").on("error", () => {});
    fillers.push(filler);
    // When this process itself is late, what the kernel has connected is reported before the pause counts.
    const late = pause(500).then(() => new Promise((resolve) => setImmediate(resolve, false)));
    return await Promise.race([once(filler, "connect"), late]);
  };
  while (await connects());
  return {
    port,
    resume: () => void child.kill("SIGCONT"),
    [Symbol.dispose]: () => {
      for (const filler of fillers) filler.destroy();
      child.kill("SIGKILL");
    },
  };
}

for (const { way, tcpConnect } of WAYS) {
  test(`tcpConnect ${way} connects over both families and leaves nothing in TIME_WAIT`, async () => {
    for (const host of ["127.0.0.1", "::1"]) {
      const sockets = new Set<Socket>();
      let accepted = 0;
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on("error", () => {}).on("close", () => sockets.delete(socket));
        // A server that speaks first, and one that never does, are the same to a connect. Only the second would leave
        // a connection in TIME_WAIT, because data that nobody reads makes a reset of any close.
        accepted += 1;
        if (accepted % 2 === 0) socket.write("220 ready\r\n");
        else socket.resume();
      });
      const port = await listen(server, host);
      for (let i = 0; i < 20; i += 1)
        assert.deepEqual(await tcpConnect(host, port, 10_000, never), { kind: "connected" });
      for (let i = 0; i < 500 && (accepted < 20 || sockets.size > 0); i += 1) await pause(10);
      assert.equal(sockets.size, 0);
      assert.equal(timeWaitCount(port), 0);
      server.close();
    }
  });

  test(`tcpConnect ${way} names what went wrong as Go does`, async () => {
    const server = createServer();
    const port = await listen(server);
    server.close();
    const table: readonly [string, number, string][] = [
      ["127.0.0.1", port, `dial tcp 127.0.0.1:${port}: connect: connection refused`],
      ["::1", port, `dial tcp [::1]:${port}: connect: connection refused`],
      [
        "::ffff:127.0.0.1",
        port,
        `dial tcp [::ffff:127.0.0.1]:${port}: connect: connection refused`,
      ],
      ["127.0.0.1", 0, "dial tcp 127.0.0.1:0: connect: connection refused"],
      // What connect(2) refuses at once, without a packet.
      ["255.255.255.255", 80, "dial tcp 255.255.255.255:80: connect: network is unreachable"],
      ["ff02::1", 80, "dial tcp [ff02::1]:80: connect: network is unreachable"],
      ["no-such-name.invalid", 80, "dial tcp: lookup no-such-name.invalid: no such host"],
    ];
    for (const [host, at, message] of table)
      assert.deepEqual(await tcpConnect(host, at, 10_000, never), { kind: "failure", message });
    for (const wrong of [65_536, -1, 1.5])
      await assert.rejects(tcpConnect("127.0.0.1", wrong, 10_000, never), /ERR_SOCKET_BAD_PORT/);
  });

  test(`tcpConnect ${way} times out where nobody answers, and ends early with the signal`, async () => {
    using listener = await fullListener();
    const { port } = listener;
    assert.deepEqual(await tcpConnect("127.0.0.1", port, 300, never), {
      kind: "timeout",
      message: `dial tcp 127.0.0.1:${port}: i/o timeout`,
    });
    const stop = new AbortController();
    const early = tcpConnect("127.0.0.1", port, 60_000, stop.signal);
    const refusal = assert.rejects(early, /enough/);
    await pause(30);
    stop.abort(new Error("enough"));
    await refusal;
    await assert.rejects(tcpConnect("127.0.0.1", port, 60_000, stop.signal), /enough/);
  });

  test(`tcpConnect ${way} connects once the peer answers`, async () => {
    using listener = await fullListener();
    const answer = tcpConnect("127.0.0.1", listener.port, 60_000, never);
    await pause(30);
    listener.resume();
    assert.deepEqual(await answer, { kind: "connected" });
  });

  test(`tcpConnect ${way} counts a connection that came in time though the agent was late`, async () => {
    const server = createServer((socket) => socket.on("error", () => {})).unref();
    const port = await listen(server);
    // From here the timers come before the sockets.
    await new Promise((resolve) => setImmediate(resolve));
    const answers = [1, 2, 3].map(() => tcpConnect("127.0.0.1", port, 50, never));
    // A socket of Node begins to connect after the call.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    // The kernel connects them meanwhile.
    const until = performance.now() + 200;
    while (performance.now() < until);
    assert.deepEqual(
      (await Promise.all(answers)).map(({ kind }) => kind),
      ["connected", "connected", "connected"],
    );
    assert.equal(timeWaitCount(port), 0);
  });

  test(`tcpConnect ${way} leaves no descriptor open, whatever comes of it`, async () => {
    using full = await fullListener();
    const server = createServer((socket) => socket.on("error", () => {}));
    const port = await listen(server);
    const closed = createServer();
    const refused = await listen(closed);
    closed.close();
    const stop = new AbortController();
    const { signal } = stop;
    const before = tcpDescriptors();
    const underWay: Promise<string>[] = [];
    const ask = (host: string, at: number, timeoutMs: number, until = never) =>
      tcpConnect(host, at, timeoutMs, until).then(
        ({ kind }) => kind,
        ({ message }) => message,
      );
    for (let i = 0; i < 100; i += 1) {
      assert.equal(await ask("127.0.0.1", port, 60_000), "connected");
      assert.equal(await ask("127.0.0.1", refused, 60_000), "failure");
      assert.equal(await ask("255.255.255.255", 80, 60_000), "failure");
      underWay.push(ask("127.0.0.1", full.port, 100), ask("127.0.0.1", full.port, 60_000, signal));
    }
    await pause(50);
    assert.ok(tcpDescriptors() >= before + 100);
    stop.abort(new Error("enough"));
    const outcomes = await Promise.all(underWay);
    assert.deepEqual([...new Set(outcomes)].toSorted(), ["enough", "timeout"]);
    // Node closes its own a turn later, and the accepted ones when their reset is read.
    for (let i = 0; i < 500 && tcpDescriptors() > before; i += 1) await pause(10);
    assert.ok(tcpDescriptors() <= before);
    server.close();
  });
}

/** Sockets that this process has open. */
function tcpDescriptors(): number {
  return readdirSync("/proc/self/fd").filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith("socket:");
    } catch {
      // The one of the listing itself.
      return false;
    }
  }).length;
}

test("system calls connect what Node's sockets would, and reset each descriptor once", async () => {
  const real = loadSystemSockets();
  assert.ok(real, "this Node can call the C library");
  const open = new Set<number>();
  let begun = 0;
  const counted: SystemSockets = {
    connect: (host, port) => {
      const descriptor = real.connect(host, port);
      begun += 1;
      assert.ok(descriptor !== undefined && !open.has(descriptor));
      open.add(descriptor);
      return descriptor;
    },
    progress: (descriptor) => {
      assert.ok(open.has(descriptor));
      return real.progress(descriptor);
    },
    reset: (descriptor) => {
      assert.ok(open.delete(descriptor));
      real.reset(descriptor);
    },
  };
  const tcpConnect = createTcpConnect(() => counted);
  using full = await fullListener();
  const server = createServer((socket) => socket.on("error", () => {}));
  const port = await listen(server);
  const stop = new AbortController();
  const cut = assert.rejects(tcpConnect("127.0.0.1", full.port, 60_000, stop.signal), /enough/);
  const kinds = await Promise.all([
    tcpConnect("127.0.0.1", port, 60_000, never),
    tcpConnect("::ffff:127.0.0.1", port, 60_000, never),
    tcpConnect("255.255.255.255", port, 60_000, never),
    tcpConnect("127.0.0.1", full.port, 100, never),
  ]);
  stop.abort(new Error("enough"));
  await cut;
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ["connected", "connected", "failure", "timeout"],
  );
  assert.equal(begun, 5);
  assert.equal(open.size, 0);
  await assert.rejects(tcpConnect("127.0.0.1", port, 60_000, stop.signal), /enough/);
  assert.equal(begun, 5, "nothing is begun after the signal");
  server.close();
});

test("a connect to the node itself is answered in the same turn", async () => {
  const server = createServer((socket) => socket.on("error", () => {})).unref();
  const port = await listen(server);
  let isNextTurn = false;
  setImmediate(() => {
    isNextTurn = true;
  });
  const answer = await createTcpConnect()("127.0.0.1", port, 1_000, never);
  assert.deepEqual({ answer, isNextTurn }, { answer: { kind: "connected" }, isNextTurn: false });
  server.close();
});

test("a connection in progress is checked once more when its time is over", async () => {
  const begun = performance.now();
  let resets = 0;
  const tcpConnect = createTcpConnect(() => ({
    connect: () => 1,
    // After the check at 31 ms, before that at 63 ms.
    progress: () => ({ kind: performance.now() - begun < 45 ? "pending" : "connected" }),
    reset: () => {
      resets += 1;
    },
  }));
  const answer = tcpConnect("127.0.0.1", 80, 50, never);
  assert.deepEqual(await answer, { kind: "connected" });
  assert.equal(resets, 1);
});

test("system calls are given up for what only Node can connect to", () => {
  const real = loadSystemSockets();
  for (const host of ["localhost", "fe80::1%lo", "", "127.1", "127.0.0.1\0", "[::1]", "1.2.3.4.5"])
    assert.equal(real?.connect(host, 80), undefined, JSON.stringify(host));
  for (const port of [0, -1, 65_536, 1.5, Number.NaN])
    assert.equal(real?.connect("127.0.0.1", port), undefined, String(port));
});

const CONNECT_ONCE = `
  const { createTcpConnect } = await import(process.argv[1]);
  const never = new AbortController().signal;
  const answer = await createTcpConnect()("127.0.0.1", Number(process.argv[2]), 60_000, never);
  process.stdout.write(answer.kind);
`;

test("where Node cannot call the C library its sockets connect", async () => {
  const server = createServer((socket) => socket.on("error", () => {}));
  const port = await listen(server);
  const argv = ["--no-experimental-ffi", "--input-type=module", "-e", CONNECT_ONCE, MODULE];
  const child = spawn(process.execPath, [...argv, String(port)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = [child.stdout, child.stderr].map((stream) => stream.setEncoding("utf8").toArray());
  const [stdout, stderr] = (await Promise.all(texts)).map((parts) => parts.join(""));
  assert.deepEqual([stdout, stderr], ["connected", ""]);
  server.close();
});

const WITHOUT_DESCRIPTORS = `
  import { execFileSync } from "node:child_process";
  const { createTcpConnect } = await import(process.argv[1]);
  const { HttpClient } = await import(process.argv[2]);
  const tcpConnect = process.argv[3] === "system" ? createTcpConnect() : createTcpConnect(() => undefined);
  const never = new AbortController().signal;
  const reported = [];
  const ask = (call) => (async () => call())().then(({ kind }) => reported.push(kind), ({ code, message }) => reported.push(code, message));
  const exchange = { url: "http://127.0.0.1:9/", method: "GET", headers: [], timeoutMs: 5000, maxBodyBytes: 10, followSameHost: true };
  await ask(() => tcpConnect("127.0.0.1", 9, 5000, never));
  // Taking all of them would not do: Node itself closes files now and then.
  execFileSync("prlimit", ["--pid=" + process.pid, "--nofile=3"]);
  await ask(() => tcpConnect("127.0.0.1", 9, 5000, never));
  await ask(() => new HttpClient().get(exchange, never));
  process.stdout.write(JSON.stringify(reported));
`;

test("a process without descriptors says so, and nothing about the peer", () => {
  const modules = ["./tcp.ts", "./http.ts"].map((name) => join(import.meta.dirname, name));
  const text = "dial tcp 127.0.0.1:9: connect: too many open files";
  for (const way of ["system", "socket"]) {
    const argv = ["--input-type=module", "-e", WITHOUT_DESCRIPTORS, ...modules, way];
    const out = execFileSync(process.execPath, argv, { encoding: "utf8" });
    assert.deepEqual(JSON.parse(out), ["failure", "exhausted", text, "exhausted", text]);
  }
});
