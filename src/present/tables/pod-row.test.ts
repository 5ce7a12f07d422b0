import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod, NOW, type PodShape, running, secondsAgo } from "../../../test/cli/pods.ts";
import { podRow } from "./pod-row.ts";

const crashed = running({
  ready: false,
  started: false,
  restartCount: 3,
  state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 40s restarting" } },
  lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt: secondsAgo(30) } },
});
const initDone = running({
  name: "setup",
  ready: true,
  state: { terminated: { exitCode: 0, reason: "Completed" } },
});
const initRuns = running({ name: "setup", ready: false, started: false });

interface Vector {
  readonly name: string;
  readonly shape: PodShape;
  readonly ready: string;
  readonly status: string;
  readonly restarts?: string;
  readonly why?: string;
  readonly style: string | undefined;
}

const VECTORS: readonly Vector[] = [
  { name: "runs", shape: {}, ready: "1/1", status: "Running", style: "green" },
  {
    name: "is being made",
    shape: {
      phase: "Pending",
      containers: [
        running({
          ready: false,
          started: false,
          state: { waiting: { reason: "ContainerCreating" } },
        }),
      ],
    },
    ready: "0/1",
    status: "ContainerCreating",
    style: "yellow",
  },
  {
    name: "crashes",
    shape: { containers: [crashed] },
    ready: "0/1",
    status: "CrashLoopBackOff",
    restarts: "3 (30s ago)",
    why: "web exited with code 1, restarted after a back-off of 40s; fix: nodelet logs web-edge-1 -c web --previous",
    style: "red",
  },
  {
    name: "has one of two crash: the failure is shown",
    shape: { containers: [running({ name: "a" }), { ...crashed, name: "b" }] },
    ready: "1/2",
    status: "CrashLoopBackOff",
    restarts: "3 (30s ago)",
    why: "b exited with code 1, restarted after a back-off of 40s; fix: nodelet logs web-edge-1 -c b --previous",
    style: "red",
  },
  {
    name: "runs on while another container is done",
    shape: {
      containers: [
        running({
          name: "a",
          state: { terminated: { exitCode: 0, reason: "Completed" } },
          ready: false,
        }),
        running({ name: "b" }),
      ],
      ready: false,
    },
    ready: "1/2",
    status: "NotReady",
    style: "yellow",
  },
  {
    name: "fails its readiness probe",
    shape: { containers: [running({ ready: false })], ready: false },
    ready: "0/1",
    status: "Running",
    why: "web is running, but its readiness probe has not succeeded; fix: nodelet probes web-edge-1 shows what the probe answers",
    style: "yellow",
  },
  {
    name: "has not got through its startup probe",
    shape: { containers: [running({ ready: false, started: false })], ready: false },
    ready: "0/1",
    status: "Running",
    why: "web is running, but its startup probe has not succeeded; fix: nodelet probes web-edge-1 shows what the probe answers",
    style: "yellow",
  },
  {
    name: "was refused",
    shape: {
      phase: "Failed",
      containers: [],
      status: { reason: "NodePorts", message: "Pod was rejected: no free port" },
    },
    ready: "0/0",
    status: "NodePorts",
    why: "Pod was rejected: no free port; fix: use another hostPort, or remove the pod that has it",
    style: "red",
  },
  {
    name: "has succeeded",
    shape: {
      phase: "Succeeded",
      containers: [
        running({ ready: false, state: { terminated: { exitCode: 0, reason: "Completed" } } }),
      ],
    },
    ready: "0/1",
    status: "Completed",
    style: "dim",
  },
  {
    name: "was killed without a reason",
    shape: {
      phase: "Failed",
      containers: [running({ ready: false, state: { terminated: { exitCode: 137, signal: 9 } } })],
    },
    ready: "0/1",
    status: "Signal:9",
    why: "web exited with code 137; fix: nodelet logs web-edge-1 -c web",
    style: "red",
  },
  {
    name: "waits for its init container",
    shape: {
      phase: "Pending",
      initialized: false,
      init: [initRuns],
      containers: [
        running({
          ready: false,
          started: false,
          state: { waiting: { reason: "PodInitializing" } },
        }),
      ],
    },
    ready: "0/1",
    status: "Init:0/1",
    why: "init container setup is running",
    style: "yellow",
  },
  {
    name: "has an init container that failed",
    shape: {
      phase: "Pending",
      initialized: false,
      init: [
        running({
          name: "setup",
          ready: false,
          restartCount: 2,
          state: { terminated: { exitCode: 2, reason: "Error", message: "no disk" } },
        }),
      ],
    },
    ready: "0/1",
    status: "Init:Error",
    restarts: "2",
    why: "setup exited with code 2: no disk; fix: nodelet logs web-edge-1 -c setup",
    style: "red",
  },
  {
    name: "has a sidecar, which counts",
    shape: { init: [initDone, running({ name: "proxy", restartCount: 1 })], sidecars: ["proxy"] },
    ready: "2/2",
    status: "Running",
    restarts: "1",
    style: "green",
  },
  {
    name: "is being ended",
    shape: { deleting: true },
    ready: "1/1",
    status: "Terminating",
    style: "yellow",
  },
];

for (const { name, shape, ready, status, restarts = "0", why = "", style } of VECTORS)
  test(`\`podRow\` of a pod that ${name}`, () => {
    const row = podRow(aPod(shape), NOW);
    assert.deepEqual(
      [row.ready, row.status, row.restarts, row.why, row.style],
      [ready, status, restarts, why, style],
    );
  });

test("`podRow` takes the age from the API's time, or else from the start", () => {
  assert.equal(podRow(aPod({ ageSeconds: 200 }), NOW).age, "3m20s");
  const pod = aPod();
  const created = { ...pod, metadata: { ...pod.metadata, creationTimestamp: secondsAgo(7200) } };
  assert.equal(podRow(created, NOW).age, "120m");
  assert.equal(podRow({ metadata: { name: "x" } }, NOW).age, "<unknown>");
});
