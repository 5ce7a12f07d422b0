import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  aContext,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  at,
  wall,
} from "../../../../test/support/pods.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { PodRecord, ProbeVerdicts } from "../record/record.ts";
import type { PodAction } from "./actions.ts";
import { planPod } from "./plan.ts";
import { ROWS } from "./plan.vectors.ts";
import { RESTART_ROWS } from "./restart.vectors.ts";

/** Actions in short: kind and what they are about. */
function inShort(action: PodAction): string {
  switch (action.kind) {
    case "startContainer":
      return `start ${action.name}#${action.restartCount}`;
    case "stopContainers":
      return `stop ${action.stops
        .map(({ id, graceSeconds, after = [] }) =>
          [`${id}(${graceSeconds})`, ...after].join(" after "),
        )
        .join(", ")}`;
    case "createSandbox":
      return `sandbox#${action.attempt}`;
    case "stopSandbox":
    case "removeSandbox":
      return `${action.kind} ${action.id}`;
    case "removeContainer":
      return `${action.kind} ${action.id}${action.files === "own" ? "" : " with pod"}`;
    default:
      return action.kind;
  }
}

for (const row of [...ROWS, ...RESTART_ROWS]) {
  test(`planPod: ${row.name}`, () => {
    const plan = planPod(aRecord(row.given, row.record), aContext(row.context));
    assert.deepEqual(plan.actions.map(inShort), row.expect);
    assert.deepEqual(
      Object.fromEntries(Object.entries(plan.waits).map(([name, { reason }]) => [name, reason])),
      row.waits ?? {},
    );
    assert.equal(plan.wakeAt, row.wakeAt);
  });
}

test("planPod: waiting in the back-off has the Go kubelet's text", () => {
  const record = aRecord(
    { containers: [anEnd("a", 1)] },
    {
      retries: {
        backoff: { a: { key: "uid-1|a|img:1|{}", delayMs: 80_000, lastUpdate: wall(-1) } },
      },
    },
  );
  assert.equal(
    planPod(record, aContext()).waits["a"]?.message,
    "back-off 1m20s restarting failed container=a pod=web_default(uid-1)",
  );
});

test("planPod: a pod with a deadline is planned again when it is over, and terminated then", () => {
  const pod = aPod({ activeDeadlineSeconds: 60, terminationGracePeriodSeconds: 5 });
  const record = aRecord({ pod, containers: [anAttempt("a")] }, { startedAt: wall(10_000) });
  const early = planPod(record, aContext({ now: at(69_000), wallNow: wall(69_000) }));
  assert.deepEqual([early.wakeAt, early.ends], [at(70_000), undefined]);
  const late = planPod(record, aContext({ now: at(70_000), wallNow: wall(70_000) }));
  const message = "Pod was active on the node longer than the specified deadline";
  assert.deepEqual(late.ends?.cause, { kind: "evicted", reason: "DeadlineExceeded", message });
  assert.deepEqual(late.events, [{ type: "Normal", reason: "DeadlineExceeded", message }]);
});

test("planPod: delays follow 0, 10, 20, 40, 80, 160, 300, 300 seconds", () => {
  let record = aRecord();
  let nowMs = 0;
  const delays: number[] = [];
  for (let restartCount = 0; restartCount < 8; restartCount += 1) {
    const endedMs = nowMs;
    record = {
      ...record,
      observed: {
        ...record.observed,
        containers: [anEnd("a", 1, { restartCount, finishedAtMs: wall(endedMs) })],
      },
    };
    let plan = planPod(record, aContext({ now: at(nowMs), wallNow: wall(nowMs) }));
    if (plan.wakeAt !== undefined) {
      nowMs = plan.wakeAt;
      plan = planPod(record, aContext({ now: at(nowMs), wallNow: wall(nowMs) }));
    }
    delays.push((nowMs - endedMs) / 1000);
    const [start] = plan.actions;
    assert(start?.kind === "startContainer" && start.backoff);
    record = { ...record, retries: { ...record.retries, backoff: { a: start.backoff } } };
  }
  assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300]);
});

const HASHED_OTHERWISE = [
  ["the short name of its image", { image: "docker.io/library/img:1" }, false],
  ["another name of its image", { image: "img:stable", imageNames: ["img:0", "img:1"] }, false],
  ["another image", { image: "img:2", imageNames: ["img:2", "img:3"] }, true],
] as const;

for (const [name, more, goes] of HASHED_OTHERWISE)
  test(`planPod: a container that another agent has hashed, and the spec has ${name}`, () => {
    const containers = [anAttempt("a", { hash: "12345678", ...more })];
    const { actions } = planPod(aRecord({ containers }), aContext());
    assert.deepEqual(
      actions.map(({ kind }) => kind),
      goes ? ["stopContainers"] : [],
    );
  });

test("planPod: a sandbox that died by itself is stopped once, so that its address is free again", () => {
  const dead = aSandbox({ id: "sb-0", ready: false, stopped: false });
  const next = aSandbox({ id: "sb-1", attempt: 1 });
  const kept = anAttempt("a", { state: "exited", exitCode: 1, restartCount: 0 });
  const running = anAttempt("a", { restartCount: 1, sandboxId: "sb-1" });
  const stopsOf = (record: PodRecord) =>
    planPod(record, aContext()).actions.flatMap((each) =>
      each.kind === "stopSandbox" ? [each.id] : [],
    );
  const replaced = { sandboxes: [next, dead], containers: [running, kept] };
  assert.deepEqual(stopsOf(aRecord({ sandboxes: [dead] })), ["sb-0"]);
  assert.deepEqual(stopsOf(aRecord(replaced)), ["sb-0"]);
  const stopped = { ...replaced, sandboxes: [next, { ...dead, stopped: true }] };
  assert.deepEqual(stopsOf(aRecord(stopped)), []);
  const life = { kind: "terminated", cause: { kind: "completed" } } as const;
  assert.deepEqual(stopsOf(aRecord({ sandboxes: [dead] }, { life })), ["sb-0"]);
});

const SIDE = aContainer("a", { restartPolicy: "Always" });
const KILLS = [
  [
    "another image",
    aPod(),
    { hash: "0", image: "img:0" },
    "Container a definition changed, will be restarted",
    true,
  ],
  [
    "liveness",
    aPod(),
    { liveness: "failure" },
    "Container a failed liveness probe, will be restarted",
    true,
  ],
  [
    "startup",
    aPod(),
    { startup: "failure" },
    "Container a failed startup probe, will be restarted",
    true,
  ],
  [
    "liveness under Never",
    aPod({ restartPolicy: "Never" }),
    { liveness: "failure" },
    "Container a failed liveness probe",
    undefined,
  ],
  [
    "unknown",
    aPod(),
    { state: "unknown" },
    'Container is in "unknown" state, try killing it before restart',
    true,
  ],
  [
    "a sidecar's liveness",
    aPod({ initContainers: [SIDE], containers: [aContainer("b")] }),
    { liveness: "failure" },
    "Init container a failed liveness probe",
    true,
  ],
] as const;

for (const [
  name,
  pod,
  { liveness, startup, ...more },
  message,
  again,
] of KILLS as readonly (readonly [string, IdentifiedPod, Kill, string, true | undefined])[])
  test(`planPod: message of a kill: ${name}`, () => {
    const verdicts = {
      containerId: "a-0",
      ...(liveness ? { liveness } : {}),
      ...(startup ? { startup } : {}),
    };
    const record = aRecord(
      { pod, containers: [anAttempt("a", more), anAttempt("b")] },
      { tracked: { probes: { a: verdicts } } },
    );
    const [stop] = planPod(record, aContext()).actions;
    assert(stop?.kind === "stopContainers");
    assert.deepEqual([stop.stops[0]?.message, stop.stops[0]?.again], [message, again]);
  });

type Kill = Partial<ObservedContainer> & Pick<ProbeVerdicts, "liveness" | "startup">;
