// The command line as a whole, against an agent that is played by a small server.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { NO_MARKS, withMarks } from "../../src/api/event-marks.ts";
import { runCommand } from "../../src/cli/cli.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import type { ProbeReport } from "../../src/present/shapes.ts";
import { aCpuReport } from "./cpu-answers.ts";
import { fakeIo } from "./fake-io.ts";
import { assertGolden } from "./golden.ts";
import { anEvent, anOverview } from "./nodes.ts";
import { aPod, NOW, running } from "./pods.ts";
import { answersOfWhy } from "./why-answers.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-commands-"));
const socketPath = join(folder, "agent.sock");
const PODS = [
  aPod({ containers: [running({ name: "web" }), running({ name: "side" })] }),
  aPod({ name: "db-edge-1", namespace: "data", containers: [running({ name: "db" })] }),
];
const probe = {
  podUid: "uid-web-edge-1",
  namespace: "default",
  podName: "web-edge-1",
  container: "web",
  kind: "liveness",
  handler: "httpGet",
  containerId: "c1",
  verdict: "success",
  run: { result: "success", length: 3 },
  doing: { kind: "probe" },
  periodMs: 10_000,
  timeoutMs: 1000,
  nextInMs: 7000,
  busyMs: 33,
  killed: 0,
  counts: { successful: 10, failed: 1, unknown: 0 },
  history: [
    {
      atMs: (NOW - 3000) as WallMs,
      durationMs: 2.6,
      lateMs: 0,
      containerId: "c1",
      result: "success",
      output: "ok",
    },
  ],
} satisfies ProbeReport;
const startup = {
  ...probe,
  kind: "startup",
  handler: "exec",
  verdict: undefined,
  run: undefined,
  doing: { kind: "wait", why: "within the initial delay" },
  counts: { successful: 0, failed: 2, unknown: 1 },
  killed: 4,
  history: [
    {
      atMs: (NOW - 9000) as WallMs,
      durationMs: 1003.2,
      lateMs: 12.34,
      containerId: "c1",
      result: "failure",
      output: 'command timed out: "check" timed out after 1s',
      killed: 4,
    },
  ],
} satisfies ProbeReport;
const decision = {
  atMs: NOW - 60_000,
  sequence: 1,
  subject: { kind: "pod", name: "default/web-edge-1", uid: "uid-web-edge-1" },
  kind: "admit",
  rule: "every rule agreed",
  inputs: { rules: 5 },
};
const started = anEvent({ reason: "Started", message: "Container started", pod: "web-edge-1" }, 60);
const failed = anEvent(
  { reason: "Unhealthy", message: "refused", type: "Warning", pod: "web-edge-1", count: 30 },
  5,
);
const marked = [
  withMarks(failed, { ...NO_MARKS, filtered: 5 }),
  withMarks(anEvent({ reason: "NodeReady", message: "Node edge-1 is ready" }, 1), {
    ...NO_MARKS,
    combined: true,
    spooled: 1,
  }),
];
const ANSWERS: Readonly<Record<string, unknown>> = {
  "/nodelet/v1/overview": anOverview(),
  "/nodelet/v1/pods": { kind: "PodList", apiVersion: "v1", metadata: {}, items: PODS },
  "/nodelet/v1/events": { kind: "EventList", items: [started] },
  "/nodelet/v1/events?for=pod%2Fdefault%2Fweb-edge-1": { kind: "EventList", items: [started] },
  "/nodelet/v1/events?for=node": { kind: "EventList", items: [] },
  "/nodelet/v1/events?history=true&limit=500": { kind: "EventList", items: [started, ...marked] },
  "/nodelet/v1/events?history=true&limit=5000&for=pod%2Fweb&since=2026-11-21T11%3A00%3A00.000000Z":
    {
      kind: "EventList",
      items: [started],
    },
  "/nodelet/v1/events?history=true&limit=7&for=node&namespace=none": {
    kind: "EventList",
    items: [],
  },
  "/nodelet/v1/probes": { items: [probe, startup] },
  "/nodelet/v1/problems": { items: [] },
  "/nodelet/v1/cpus": aCpuReport(),
  "/nodelet/v1/eviction": {
    layout: "single",
    conditions: [],
    excesses: [],
    signals: [
      {
        signal: "memory.available",
        kind: "hard",
        state: "unmet",
        metInMs: 200_000,
        threshold: "100Mi",
        available: "500Mi",
        capacity: "1Gi",
      },
    ],
  },
  ...answersOfWhy(decision),
};
const asked: string[] = [];
const otherAnswers = new Map<string, unknown>();
const server = createServer((request, response) => {
  const url = request.url ?? "";
  asked.push(url);
  if (url.startsWith("/containerLogs/")) return void response.end("a log line\n");
  const answer = otherAnswers.get(url) ?? ANSWERS[url];
  if (answer === undefined) response.statusCode = 404;
  response.end(JSON.stringify(answer ?? { message: `nothing at ${url}` }));
});
before(() => new Promise<void>((resolve) => server.listen(socketPath, resolve)));
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

async function run(...argv: readonly string[]) {
  const io = { ...fakeIo({ NODELET_SOCKET: socketPath }), now: () => NOW };
  const code = await runCommand(argv, io, () => new AbortController().signal);
  await new Promise(setImmediate);
  return { code, out: io.out(), err: io.err() };
}

const TEXTS: readonly (readonly string[])[] = [
  ["get", "pods"],
  ["get", "pods", "-A", "-o", "wide"],
  ["get", "pods", "-A", "-o", "name"],
  ["get", "pods", "-o", "json", "-l", "app=web"],
  ["get", "pod/web", "-o", "yaml"],
  ["get", "nodes"],
  ["get", "nodes", "--no-headers"],
  ["get", "node", "-o", "yaml"],
  ["get", "events"],
  ["get", "probes"],
  ["get", "cpus"],
  ["get", "cpus", "-o", "wide"],
  ["get", "cpus", "-o", "yaml"],
  ["get", "cpu", "2", "-o", "json"],
  ["get", "cpus", "0", "2", "--no-headers"],
  ["probes"],
  ["probes", "-o", "json"],
  ["probes", "pod/web"],
  ["events"],
  ["events", "-o", "wide", "--no-headers"],
  ["events", "-o", "yaml"],
  ["events", "--for", "pod/web", "--since", "1h"],
  ["describe", "pod", "web"],
  ["describe", "node"],
  ["why", "web"],
  ["why", "web", "-o", "json"],
  ["why", "old"],
  ["why", "late"],
  ["why", "late", "-o", "json"],
  ["why", "--node"],
  ["why", "--agent"],
];

test("`nodelet get problems` lists pods that cannot go on, with the fix", async (t) => {
  t.after(() => otherAnswers.clear());
  const waiting = running({ ready: false, state: { waiting: { reason: "ContainerCreating" } } });
  const blocked = { reason: "FailedMount", message: 'secret "keys" not found' };
  const pod = { ...aPod({ phase: "Pending", containers: [waiting] }), blocked };
  otherAnswers.set("/nodelet/v1/pods", { items: [...PODS, pod] });
  const { out } = await run("get", "problems");
  assert.match(out, /pod\/default\/web-edge-1 +secret "keys" not found; fix: kubectl create/);
});

test("`nodelet get cpus` with cpuManagerPolicy: none shows the machine", async (t) => {
  t.after(() => otherAnswers.clear());
  const { cpus, nodes } = aCpuReport();
  const shared = cpus.slice(0, 8).map(({ owner: _, ...cpu }) => ({ ...cpu, state: "shared" }));
  const all = { policy: "none", options: [], reserved: "", shared: "0-7", nodes, cpus: shared };
  otherAnswers.set("/nodelet/v1/cpus", all);
  const { out } = await run("get", "cpus");
  assert.equal(
    out,
    `NODE   SOCKET   CPUS   STATE    POD   CONTAINERS
0      0        0-7    shared   -     -

cpuManagerPolicy: none; all containers share all CPUs. With static those of Guaranteed pods get whole CPUs for themselves.
`,
  );
});

for (const argv of TEXTS)
  test(`\`nodelet ${argv.join(" ")}\``, async () => {
    const { code, out, err } = await run(...argv);
    assert.equal(err, "");
    assert.equal(code, 0);
    assertGolden(`commands/${argv.join("_").replaceAll("/", "+")}.txt`, out);
  });

interface Refusal {
  readonly argv: readonly string[];
  readonly code: number;
  readonly text: RegExp;
}
const REFUSALS: readonly Refusal[] = [
  { argv: ["gte", "pods"], code: 2, text: /unknown command 'gte'\n\(Did you mean get\?\)/ },
  { argv: ["get"], code: 2, text: /missing required argument 'what'/ },
  { argv: ["get", "pods", "--wat"], code: 2, text: /unknown option '--wat'/ },
  {
    argv: ["get", "pods", "-o", "xml"],
    code: 2,
    text: /Allowed choices are wide, json, yaml, name/,
  },
  { argv: ["get", "podz"], code: 2, text: /unknown resource type "podz"\n {2}did you mean pods\?/ },
  { argv: ["get", "deployments"], code: 2, text: /available types: pods, nodes/ },
  { argv: ["get", "pods", "-l", "a b"], code: 2, text: /--selector: / },
  { argv: ["get", "pod", "none"], code: 3, text: /pod none not found\n {2}nodelet get pods -A/ },
  { argv: ["get", "probes", "-w"], code: 2, text: /probes cannot be watched/ },
  { argv: ["probes", "pod/none"], code: 3, text: /pod none not found/ },
  { argv: ["describe", "service", "x"], code: 2, text: /"service" cannot be described/ },
  { argv: ["describe", "pod", "wbe"], code: 3, text: /pod wbe not found/ },
  { argv: ["describe", "node", "other"], code: 3, text: /the node here is edge-1/ },
  { argv: ["why", "none"], code: 3, text: /pod none not found/ },
  {
    argv: ["why", "secret"],
    code: 3,
    text: /failed to read it from the API server: pods "secret" is forbidden.*\n {2}kubectl describe pod secret -n default/,
  },
  { argv: ["why", "a/b/c"], code: 2, text: /names no pod/ },
  {
    argv: ["logs", "web", "-c", "none"],
    code: 3,
    text: /has no container none\n {2}it has: web, side/,
  },
  { argv: ["logs", "web", "--tail", "x"], code: 2, text: /write a whole number/ },
  { argv: ["logs", "web", "--since", "5"], code: 2, text: /with its unit/ },
  { argv: ["logs", "web", "--since-time", "now"], code: 2, text: /"now" is not a time/ },
  {
    argv: ["logs", "web", "--since", "5s", "--since-time", "2026-01-01T00:00:00Z"],
    code: 2,
    text: /cannot be used together/,
  },
  { argv: ["events", "--for", "web"], code: 2, text: /write pod\/name, / },
  { argv: ["events", "--since", "1"], code: 2, text: /with its unit/ },
  { argv: ["events", "--limit", "0"], code: 2, text: /from 1 to 5000/ },
  { argv: ["events", "-w", "--root-dir", "/x"], code: 2, text: /--watch needs a running agent/ },
  { argv: ["exec", "web"], code: 2, text: /missing required argument 'command'/ },
  { argv: ["down", "--grace-period", "-1"], code: 2, text: /whole number of seconds/ },
  { argv: ["up", "--timeout", "soon"], code: 2, text: /with its unit/ },
  { argv: ["completion", "tcsh"], code: 2, text: /Allowed choices are bash, zsh, fish/ },
  {
    argv: ["get", "pods", "--socket", "/nowhere.sock"],
    code: 4,
    text: /is not running .*\/nowhere.sock.\n {2}start it: sudo nodelet up/,
  },
];

for (const { argv, code, text } of REFUSALS)
  test(`\`nodelet ${argv.join(" ")}\` is refused`, async () => {
    const result = await run(...argv);
    assert.match(result.err, text);
    assert.equal(result.out, "");
    assert.equal(result.code, code);
    assert.doesNotMatch(result.err, /^ +at .*:\d+:\d+\)?$/m, "no stack");
  });

test("`nodelet get` says when there is nothing", async () => {
  const { code, out, err } = await run("get", "pods", "-n", "empty");
  assert.deepEqual([code, out, err], [0, "", "No pods found in namespace empty.\n"]);
});

test("`nodelet logs` asks for what the options say, and says which container it took", async () => {
  asked.length = 0;
  const flags = ["-f", "-p", "--timestamps", "--tail=5", "--since=90s", "--limit-bytes=100"];
  const { code, out, err } = await run("logs", "web", ...flags);
  assert.deepEqual([code, out], [0, "a log line\n"]);
  assert.equal(err, 'Defaulted container "web" out of: web, side\n');
  assert.equal(
    asked.at(-1),
    "/containerLogs/default/web-edge-1/web?follow=true&previous=true&timestamps=true&tailLines=5&sinceSeconds=90&limitBytes=100",
  );
  assert.equal((await run("logs", "web", "side", "--tail=-1")).err, "");
  assert.equal(asked.at(-1), "/containerLogs/default/web-edge-1/side?");
});

test("`nodelet events` says when there are none", async () => {
  const { code, out, err } = await run("events", "--for", "node", "-n", "none", "--limit", "7");
  assert.deepEqual([code, out, err], [0, "", "No events found.\n"]);
});

test("`nodelet version` goes without an agent", async () => {
  const { code, out } = await run("version", "--socket", "/nowhere.sock");
  assert.equal(code, 0);
  assert.match(out, /^nodelet \d.* Kubernetes v1\.37\.\d+, on Node v\d+.*\nagent: not running\n$/);
  const agent = JSON.parse((await run("version", "-o", "json")).out);
  assert.deepEqual(agent.agent, { nodelet: "0.1.0", runtime: "containerd 1.6.20", node: "edge-1" });
});

const COMPLETIONS: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
  [["ge"], ["get"]],
  [["h"], ["harden", "help"]],
  [["help", "dow"], ["down"]],
  [
    ["config", ""],
    ["view", "review"],
  ],
  [
    ["get", ""],
    ["pods", "nodes", "events", "probes", "problems", "cpus", "control-plane"],
  ],
  [["get", "pods", ""], ["web-edge-1"]],
  [["get", "pods", "-n", "data", ""], ["db-edge-1"]],
  [["get", "nodes", ""], []],
  [
    ["get", "pods", "-n", ""],
    ["default", "data"],
  ],
  [["get", "pods", "-n", "x", "--namespace", "da"], ["data"]],
  [["get", "pods", "--output", "j"], ["json"]],
  [["get", "pods", "--output=j"], ["--output=json"]],
  [["get", "pods", "--output", "=", "j"], ["--output=json"]],
  [
    ["get", "pods", "--output", "="],
    ["--output=wide", "--output=json", "--output=yaml", "--output=name"],
  ],
  [["get", "pods", "--w"], ["--watch"]],
  [
    ["describe", ""],
    ["pod", "node"],
  ],
  [["describe", "pod", "w"], ["web-edge-1"]],
  [["describe", "node", ""], []],
  [
    ["logs", "web", "-c", ""],
    ["web", "side"],
  ],
  [["logs", "web", "s"], ["side"]],
  [["logs", "-f", "w"], ["web-edge-1"]],
  [["exec", "-it", ""], ["web-edge-1"]],
  [["exec", "web", "--", ""], []],
  [["exec", "web", "--", "-"], []],
  [["why", ""], ["web-edge-1"]],
  [
    ["events", "--for", ""],
    ["pod/default/web-edge-1", "pod/data/db-edge-1", "node"],
  ],
  [["completion", "b"], ["bash"]],
  [["plan", "--evict", "pid"], ["pid.available="]],
  [["plan", "--evict", "pid.available=5%", "--sum"], ["--summary"]],
  [["plan", "--evict", "--output", "y"], ["yaml"]],
  [["plan", "--evict", "--summ"], ["--summary"]],
  [
    ["up", "--containerd", ""],
    ["auto", "own"],
  ],
  [["up", "--config", ""], [":files"]],
  [["up", "--super"], []],
  [["version", "x"], []],
];

for (const [words, expected] of COMPLETIONS)
  test(`completion of \`nodelet ${words.join(" ")}\``, async () => {
    const { code, out, err } = await run("__complete", ...words);
    assert.deepEqual([code, err], [0, ""]);
    const texts = out.split("\n").map((line) => line.split("\t")[0]);
    assert.deepEqual(texts.slice(0, -1), expected);
  });
