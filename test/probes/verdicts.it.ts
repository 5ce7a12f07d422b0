// What probes do to containers, on real containerd.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Probe } from "../../src/api/generated/types.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { conditionOf, manifest, STAY } from "../support/agent.ts";
import { WAIT_FOREVER } from "../support/stay.ts";
import { ProbedNode } from "./box-probes.ts";
import { PORTS } from "./box-targets.ts";

let node: ProbedNode;
before(async () => {
  node = await ProbedNode.start();
});
after(() => node[Symbol.asyncDispose]());

const container = (name: string, more: Partial<Container>): Container => ({
  name,
  image: TEST_IMAGE,
  command: [...STAY],
  ...more,
});

const statusOf = (pod: string, name = "main") =>
  [...node.agent.statuses().values()]
    .flatMap(({ containerStatuses = [], initContainerStatuses = [] }) => [
      ...containerStatuses,
      ...initContainerStatuses,
    ])
    .find((status) => status.name === (name === "main" ? pod : name));

/** One pod with one container of the same name. */
function run(name: string, more: Partial<Container>, spec = {}): void {
  node.agent.apply(
    `${name}.yaml`,
    manifest(name, { ...spec, containers: [container(name, more)] }),
  );
}

async function gone(name: string): Promise<void> {
  node.agent.remove(`${name}.yaml`);
  await node.agent.until(`${name} is gone`, () => statusOf(name) === undefined);
}

const KINDS: Readonly<Record<string, (address: string) => Probe>> = {
  exec: () => ({ exec: { command: ["test", "!", "-e", "/tmp/sick"] } }),
  http: (host) => ({ httpGet: { host, port: PORTS.http, path: "/", scheme: "HTTP" } }),
  tcp: (host) => ({ tcpSocket: { host, port: PORTS.tcp } }),
  grpc: () => ({ grpc: { port: PORTS.grpc } }),
};

for (const [kind, handler] of Object.entries(KINDS)) {
  test(`liveness by ${kind}: the container is restarted after exactly as many failures as the spec says`, async () => {
    const failureThreshold = 4;
    const livenessProbe = { ...handler(node.box.nodeAddress), periodSeconds: 1, failureThreshold };
    // gRPC probes have no host but the pod's own: the node's.
    run(kind, { livenessProbe }, { hostNetwork: true });
    await node.agent.until("it runs", () => statusOf(kind)?.ready === true);
    await node.agent.until(
      "it was found alive twice",
      async () => (await node.probe(kind, "liveness")).counts.successful >= 2,
    );
    const first = statusOf(kind)?.containerID?.replace("containerd://", "") ?? "";
    if (kind === "exec")
      await node.box.ctr("tasks", "exec", "--exec-id", "x", first, "touch", "/tmp/sick");
    else await node.target("down", kind);
    await node.agent.until("it is restarted", () => statusOf(kind)?.restartCount === 1);
    if (kind !== "exec") await node.target("up", kind);
    const { history } = await node.probe(kind, "liveness");
    const ofFirst = history.filter(({ containerId }) => containerId === first);
    const failures = ofFirst.filter(({ result }) => result === "failure");
    assert.equal(failures.length, failureThreshold);
    assert.deepEqual(
      ofFirst.slice(-failureThreshold).map(({ result }) => result),
      failures.map(({ result }) => result),
      "in a row, and the last ones",
    );
    const killed = node.agent
      .decisions()
      .filter(({ kind: did, rule }) => did === "killContainer" && rule === "liveness probe failed");
    assert.equal(killed.filter(({ inputs }) => inputs["container"] === kind).length, 1);
    const reported = (await node.events()).filter(({ involvedObject: o }) =>
      o.name?.startsWith(`${kind}-`),
    );
    const unhealthy = reported.filter(({ reason }) => reason === "Unhealthy");
    assert.ok(unhealthy.length > 0 && unhealthy[0]?.message?.startsWith("Liveness probe failed: "));
    assert.equal(
      reported.find(({ reason }) => reason === "Killing")?.message,
      `Container ${kind} failed liveness probe, will be restarted`,
    );
    await gone(kind);
  });
}

test("readiness flips after its threshold, and recovers", async () => {
  const readinessProbe = {
    ...KINDS["http"]?.(node.box.nodeAddress),
    periodSeconds: 1,
    failureThreshold: 2,
    successThreshold: 2,
  };
  run("ready", { readinessProbe });
  const condition = () =>
    conditionOf(
      [...node.agent.statuses().values()].find((status) =>
        status.containerStatuses?.some(({ name }) => name === "ready"),
      ),
      "Ready",
    );
  await node.agent.until("it is Ready", () => condition() === "True");
  await node.target("down", "http");
  await node.agent.until("it is not Ready", () => condition() === "False");
  const failures = (await node.probe("ready", "readiness")).history.filter(
    ({ result }) => result === "failure",
  );
  assert.ok(failures.length >= 2, "not before its threshold");
  // A container that is not ready any more is probed once more at once, outside its period: an
  // attempt like that begins only after the verdict.
  const [, second, third] = failures;
  assert.ok(
    third === undefined || third.atMs - (second?.atMs ?? 0) < 900,
    `not later than its threshold: ${JSON.stringify(failures)}`,
  );
  await node.target("up", "http");
  await node.agent.until("it is Ready again", () => condition() === "True");
  assert.equal(statusOf("ready")?.restartCount, 0);
  await gone("ready");
});

test("startup gates the others, and its failure restarts the container", async () => {
  const touch = `sleep 3; touch /tmp/up; trap 'exit 0' TERM; ${WAIT_FOREVER}`;
  const one = { periodSeconds: 1 };
  run("slow", {
    command: ["sh", "-c", touch],
    startupProbe: { ...one, exec: { command: ["test", "-e", "/tmp/up"] }, failureThreshold: 30 },
    livenessProbe: { ...one, exec: { command: ["test", "-e", "/tmp/up"] }, failureThreshold: 1 },
    readinessProbe: { ...one, exec: { command: ["true"] } },
  });
  await node.agent.until("it runs", () => statusOf("slow")?.state?.running !== undefined);
  await sleep(1500);
  assert.deepEqual([statusOf("slow")?.started, statusOf("slow")?.ready], [false, false]);
  for (const kind of ["liveness", "readiness"] as const)
    assert.equal((await node.probe("slow", kind)).history.length, 0, kind);
  await node.agent.until("it is ready", () => statusOf("slow")?.ready === true);
  assert.equal(statusOf("slow")?.started, true);
  const { history } = await node.probe("slow", "startup");
  const wentUp = history.findIndex(({ result }) => result === "success");
  assert.ok(wentUp >= 2 && wentUp === history.length - 1, "it rests after the first success");
  await node.agent.until(
    "it is found alive",
    async () => (await node.probe("slow", "liveness")).counts.successful >= 2,
  );
  assert.equal(statusOf("slow")?.restartCount, 0);
  assert.equal((await node.probe("slow", "liveness")).counts.failed, 0);
  await gone("slow");
  run("never", {
    startupProbe: { ...one, exec: { command: ["false"] }, failureThreshold: 3 },
    livenessProbe: { ...one, exec: { command: ["true"] } },
  });
  await node.agent.until("it is restarted", () => statusOf("never")?.restartCount === 1);
  const events = await node.events();
  assert.ok(
    events.some(
      ({ message }) => message === "Container never failed startup probe, will be restarted",
    ),
  );
  await gone("never");
});

test("a grace of the probe's own holds for the kill it causes", async () => {
  const livenessProbe = {
    exec: { command: ["false"] },
    periodSeconds: 1,
    failureThreshold: 1,
    terminationGracePeriodSeconds: 3,
  };
  const deaf = ["sh", "-c", `trap '' TERM; ${WAIT_FOREVER}`];
  run("grace", { command: deaf, livenessProbe }, { terminationGracePeriodSeconds: 60 });
  await node.agent.until("it is being killed", () =>
    node.agent
      .decisions()
      .some(({ inputs }) => inputs["container"] === "grace" && inputs["graceSeconds"] === 3),
  );
  const tookMs = await node.agent.until(
    "it is restarted",
    () => (statusOf("grace")?.restartCount ?? 0) >= 1,
  );
  assert.ok(tookMs > 2500 && tookMs < 10_000, `killed after ${tookMs} ms, not 3 s`);
  assert.equal(statusOf("grace")?.lastState?.terminated?.exitCode, 137);
});
