// Targets that mean no good, on real containerd: what they cost, and what is reported of them.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Probe } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { manifest, STAY } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { ProbedNode } from "./box-probes.ts";
import { HOSTILE, PORTS } from "./box-targets.ts";

let node: ProbedNode;
before(async () => {
  // An agent that keeps what it was sent runs out of memory; without a limit V8 takes its time to collect.
  node = await ProbedNode.start({
    nodeFlags: ["--max-old-space-size=110", "--max-semi-space-size=2"],
  });
});
afterEach(async () => {
  node.agent.remove("pod.yaml");
  await node.agent.until("it is gone", () => node.agent.statuses().size === 0, 60_000);
});
after(() => node[Symbol.asyncDispose]());

const MIB = 2 ** 20;
/** How long memory is watched. */
const SECONDS = Number(process.env["PROBE_SECONDS"] ?? 10);

/** A readiness probe continues whatever its result. */
const container = (name: string, readinessProbe: Probe, more: Partial<Container> = {}) => ({
  name,
  image: TEST_IMAGE,
  command: [...STAY],
  readinessProbe: { periodSeconds: 1, timeoutSeconds: 1, ...readinessProbe },
  ...more,
});

const http = (port: number): Probe => ({
  httpGet: { host: node.box.nodeAddress, port, path: "/", scheme: "HTTP" },
});

interface Expected {
  readonly probe: () => Probe;
  readonly result: "success" | "failure" | "error";
  readonly output: RegExp;
}

const TABLE: Readonly<Record<string, Expected>> = {
  endless: { probe: () => http(HOSTILE.endless), result: "success", output: /^x{256}$/ },
  huge: { probe: () => http(HOSTILE.huge), result: "success", output: /^x{256}$/ },
  redirects: {
    probe: () => http(HOSTILE.redirects),
    result: "failure",
    output: /stopped after 10 redirects$/,
  },
  headers: { probe: () => http(HOSTILE.headers), result: "failure", output: /^Get ".*header/ },
  drip: {
    probe: () => http(HOSTILE.drip),
    result: "failure",
    output: /context deadline exceeded \(Client.Timeout exceeded while awaiting headers\)$/,
  },
  silent: { probe: () => http(HOSTILE.silent), result: "failure", output: /deadline exceeded/ },
  reset: { probe: () => http(HOSTILE.reset), result: "failure", output: /connection reset|EOF/ },
  binary: {
    probe: () => http(HOSTILE.binary),
    result: "failure",
    output: /^HTTP probe failed with statuscode: 500$/,
  },
  "grpc-of-http": {
    probe: () => ({ grpc: { port: HOSTILE.binary } }),
    result: "failure",
    output: /^(error|timeout): /,
  },
  "stdout-64mb": {
    probe: () => ({ exec: { command: ["head", "-c", "67108864", "/dev/zero"] } }),
    // containerd cuts the output, but to one that is a few bytes more than it can send.
    result: "error",
    output: /^rpc error: code = ResourceExhausted /,
  },
  // CVE-2022-31030: the command is ended with its time, and what it reported until then is kept by nobody.
  "stdout-endless": {
    probe: () => ({ exec: { command: ["yes"] }, periodSeconds: 5 }),
    result: "failure",
    output: /^command timed out: "yes" timed out after 1s$/,
  },
  "stdout-4mb": {
    probe: () => ({ exec: { command: ["sh", "-c", "head -c 4194304 /dev/zero | tr '\\0' x"] } }),
    result: "success",
    output: /^x{256}$/,
  },
  "stdout-binary": {
    probe: () => ({ exec: { command: ["sh", "-c", "head -c 4096 /dev/urandom; exit 3"] } }),
    result: "failure",
    output: /^/,
  },
};

const SLOW = new Set(["drip", "silent", "grpc-of-http", "stdout-endless"]);
/** Those that keep containerd busy are awaited once only. */
const COSTLY = ["stdout-64mb", "stdout-endless"];

/** Processes of the probe that writes without end; one may be at work. */
const writers = async () =>
  Number((await node.box.exec(["pgrep", "-cx", "yes"])).stdout.trim() || "0");

test("whatever is at the other end: a verdict in time, and bounded memory", async () => {
  const containers = Object.entries(TABLE).map(([name, { probe }]) => {
    // Those that answer may take their time on a busy machine.
    const timeoutSeconds = SLOW.has(name) ? 1 : 60;
    return container(name, { ...probe(), timeoutSeconds });
  });
  node.agent.apply("pod.yaml", manifest("pod", { hostNetwork: true, containers }));
  await node.agent.until(
    "all were probed five times",
    async () => {
      const probes = await node.probes().catch(() => []);
      const least = probes.map(({ container: name, counts }) =>
        COSTLY.includes(name) ? 5 : counts.successful + counts.failed,
      );
      return least.length === containers.length && Math.min(...least) >= 5;
    },
    60_000,
  );
  await node.agent.until(
    "much was printed on stdout",
    async () => {
      const probes = await Promise.all(COSTLY.map((name) => node.probe(name, "readiness")));
      return probes.every(({ history }) => history.length > 0);
    },
    120_000,
  );
  const before = await node.agentMemory();
  for (let passed = 0; passed < SECONDS; passed += 10) {
    await sleep(10_000);
    const { now, peak } = await node.agentMemory();
    console.log(`agent: ${Math.round(now / MIB)} MiB, at most ${Math.round(peak / MIB)}`);
  }
  const now = await node.agentMemory();
  for (const probe of await node.probes()) {
    const { result, output } = TABLE[probe.container] ?? { result: "", output: /^$/ };
    for (const record of probe.history) {
      assert.equal(record.result, result, `${probe.container}: ${record.output}`);
      assert.match(record.output, output, probe.container);
      assert.ok(record.output.length <= 256 + 8, `${probe.container}: ${record.output.length}`);
    }
  }
  assert.ok((await writers()) <= 1, "commands that write for ever pile up");
  assert.ok(now.now - before.now < 48 * MIB, "memory grows");
  assert.ok(now.peak < 300 * MIB, `${now.peak / MIB} MiB at most`);
});

test("HTTP to a server that says nothing fails at the timeout", async () => {
  const containers = [
    container("one", http(HOSTILE.silent)),
    container("two", { ...http(HOSTILE.silent), timeoutSeconds: 2 }),
  ];
  node.agent.apply("pod.yaml", manifest("pod", { containers }));
  const seconds = { one: 1, two: 2 };
  await node.agent.until("five attempts of each", async () => {
    const probes = await node.probes();
    return probes.length === 2 && probes.every(({ history }) => history.length >= 5);
  });
  for (const [name, timeout] of Object.entries(seconds)) {
    const { history } = await node.probe(name, "readiness");
    const took = history.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
    console.log(`timeout ${timeout} s: ${took.map((ms) => ms.toFixed(1)).join(", ")} ms`);
    assert.ok(took.every((ms) => ms > timeout * 1000 - 50));
    // A busy machine delays single ones.
    assert.ok((took[0] ?? Number.NaN) < timeout * 1000 + 50 * TIMEOUT_FACTOR);
  }
});

test("an exec probe that hangs for ever: no more processes, and the others keep their times", async () => {
  const script = "sleep 1000 & (sleep 1001; sleep 1002) & setsid sleep 1003 & exec sleep 1004";
  const containers = [
    container("hangs", { exec: { command: ["sh", "-c", script] } }),
    container("plain", { exec: { command: ["sleep", "1005"] } }),
    container("leaves", { exec: { command: ["sh", "-c", "sleep 1006 & exit 0"] } }),
    container("good", {
      tcpSocket: { host: node.box.nodeAddress, port: PORTS.tcp },
    }),
  ];
  node.agent.apply("pod.yaml", manifest("pod", { containers }));
  const untilAttempts = async (count: number) =>
    node.agent.until(
      `${count} attempts of each`,
      async () => {
        const probes = await node.probes();
        return (
          probes.length === containers.length &&
          probes.every(({ counts }) => counts.successful + counts.failed >= count)
        );
      },
      60_000,
    );
  const sleepers = async () =>
    (await node.box.run(["sh", "-c", "pgrep -af 'sleep 100[0-9]' || true"]))
      .split("\n")
      .filter((line) => line !== "" && !line.includes("pgrep"));
  await untilAttempts(3);
  const zombies = async () =>
    Number(
      await node.box.run([
        "sh",
        "-c",
        "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l",
      ]),
    );
  const early = await zombies();
  await untilAttempts(12);
  const most = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      await sleep(i * 333);
      return (await sleepers()).length;
    }),
  );
  console.log(
    `processes of hanging probes over time: ${most.join(" ")}; ended ones: ${await zombies()}`,
  );
  assert.ok(Math.max(...most) <= 9, `they grow: ${(await sleepers()).join("\n")}`);
  assert.ok((await zombies()) <= early + 4, "ended processes pile up");
  const hangs = await node.probe("hangs", "readiness");
  assert.equal(hangs.verdict, "failure");
  assert.equal(hangs.counts.successful, 0);
  assert.equal(
    hangs.history.at(-1)?.output,
    `command timed out: ${JSON.stringify(`sh -c ${script}`)} timed out after 1s`,
  );
  assert.ok(hangs.killed > 0);
  const plain = await node.probe("plain", "readiness");
  assert.equal(plain.counts.successful, 0);
  const { history } = await node.probe("good", "readiness");
  assert.ok(history.every(({ result }) => result === "success"));
  const late = history.map(({ lateMs }) => lateMs).toSorted((a, b) => a - b);
  console.log(`the good probe was late by ${late.map((ms) => ms.toFixed(1)).join(" ")} ms`);
  assert.ok((late[Math.floor(late.length / 2)] ?? Number.NaN) < 50 * TIMEOUT_FACTOR);
});

test("periods below a second; a main process that collects nothing is warned about", async () => {
  const hang = { exec: { command: ["sh", "-c", "sleep 1000 & sleep 1001 & sleep 1002; true"] } };
  const containers = [
    // Its first process is sleep, which waits for no children.
    container("deaf", hang, { command: ["sleep", "2147483647"] }),
    container("fine", { tcpSocket: { host: node.box.nodeAddress, port: PORTS.tcp } }),
  ];
  const annotations = {
    "nodelet.dev/probe-periods": "fine/readiness=100ms,deaf/readiness=500ms",
    "nodelet.dev/probe-timeouts": "deaf/readiness=400ms",
  };
  const pod = manifest("pod", { containers });
  node.agent.apply("pod.yaml", { ...pod, metadata: { ...pod.metadata, annotations } });
  await node.agent.until("both are probed", async () => (await node.probes()).length === 2);
  await node.agent.until(
    "the first attempt succeeds",
    async () => (await node.probe("fine", "readiness")).counts.successful > 0,
  );
  const before = (await node.probe("fine", "readiness")).counts.successful;
  await sleep(5000);
  const attempts = (await node.probe("fine", "readiness")).counts.successful - before;
  console.log(`${attempts} attempts in 5 s with a period of 100 ms`);
  assert.ok(attempts > 25 / TIMEOUT_FACTOR && attempts <= 55, `${attempts} attempts in 5 s`);
  await node.agent.until("there is a warning", async () =>
    (await node.events()).some(
      ({ reason, message }) =>
        reason === "ProbeWarning" && /the container does not collect them/.test(message ?? ""),
    ),
  );
  const deaf = await node.probe("deaf", "readiness");
  assert.ok(deaf.killed >= 3 * 6 && deaf.counts.successful === 0);
  assert.match(deaf.history.at(-1)?.output ?? "", /timed out after 400ms$/);
});
