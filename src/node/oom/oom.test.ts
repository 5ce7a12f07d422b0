import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OomCounts } from "../../api/figures/oom-counts.ts";
import type { Pod } from "../../api/generated/types.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { TaskScope } from "../../kit/scope.ts";
import { locateGroup } from "../../subsystems/cgroups/locate.ts";
import { readOomLines } from "./kernel-lines.ts";
import { startOomWatch } from "./oom.ts";

const NOTHING = { open: undefined, complete: false, done: [] };
const ID = "f8c15a99d5b2552b20dd671c4e21a8117249acae14ba5ef9e4d3a5928e410737";

const memcg = (limit: string, group: string, name = "tail", pid = 4538) => [
  `${name} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0`,
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${ID},mems_allowed=0,oom_memcg=${limit},task_memcg=${group},task=${name},pid=${pid},uid=0`,
  `Memory cgroup out of memory: Killed process ${pid} (${name}) total-vm:104680kB, anon-rss:32000kB, file-rss:0kB, shmem-rss:1388kB, UID:0 pgtables:108kB oom_score_adj:0`,
];

const global = (group: string) => [
  `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=${group},task=stress,with=commas,pid=77,uid=1000`,
  "Out of memory: Killed process 77 (stress,with=commas) total-vm:1kB, anon-rss:2048kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0",
];

test("readOomLines reads group, limit and process from the kernel log", () => {
  const { open, complete } = readOomLines(NOTHING, memcg("/kubepods/podx", `/kubepods/podx/${ID}`));
  assert.equal(complete, true);
  assert.deepEqual(open, {
    limitGroup: "/kubepods/podx",
    victimGroup: `/kubepods/podx/${ID}`,
    program: "tail",
    pid: 4538,
    anonymousBytes: 32_000 * 1024,
    others: [],
  });
  const node = readOomLines(NOTHING, global("/system.slice/a.service")).open;
  assert.deepEqual(
    [node?.limitGroup, node?.program, node?.pid, node?.anonymousBytes],
    [undefined, "stress,with=commas", 77, 2 * 2 ** 20],
  );
});

test("readOomLines continues where it stopped, and collects the victims of a group", () => {
  const lines = [
    ...memcg("/a/b", "/a/b/c", "one", 1),
    "Tasks in /a/b/c are going to be killed due to memory.oom.group set",
    "Memory cgroup out of memory: Killed process 1 (one) total-vm:1kB, anon-rss:4kB, file-rss:0kB",
    "Memory cgroup out of memory: Killed process 2 (two) total-vm:1kB, anon-rss:4kB, file-rss:0kB",
    "eth0: link becomes ready",
  ];
  for (let cut = 0; cut <= lines.length; cut += 1) {
    const half = readOomLines(NOTHING, lines.slice(0, cut));
    const { open } = readOomLines(half, lines.slice(cut));
    assert.equal(open?.pid, 1);
    assert.deepEqual(open?.others, [{ program: "two", pid: 2 }], `cut after ${cut}`);
  }
  const twice = readOomLines(NOTHING, [...lines, ...memcg("/a/b", "/a/b/c", "next", 9)]);
  assert.deepEqual([twice.done.map(({ pid }) => pid), twice.open?.pid], [[1], 9]);
});

interface RecordedEvent {
  readonly on: string;
  readonly reason: string;
  readonly message: string;
}

/** The watcher over a log that `waiting` is moved into. */
function startWatch(pod: Pod) {
  const clock = new SimClock();
  const waiting: string[][] = [["old news"], []];
  const readAt: number[] = [];
  const read = () => {
    readAt.push(clock.monotonic());
    return waiting.shift() ?? [];
  };
  const host = Object.assign(new FakeHost({ clock }), {
    openKernelLog: () => ({ read, close: () => {} }),
  });
  const recorded: RecordedEvent[] = [];
  const listeners = new Set<() => void>();
  const pods = {
    get: (uid: string) => (uid === "x" ? record : undefined),
    subscribe: (onRecord: () => void) => {
      listeners.add(onRecord);
      return () => listeners.delete(onRecord);
    },
  };
  const record = { pod, observed: { containers: [{ id: ID, name: "main" }] } };
  const scope = new TaskScope("test", { clock, log: silentLog });
  const oomCounts = new OomCounts();
  startOomWatch({
    outside: { clock, log: silentLog, host },
    scope,
    pipeline: { pods } as never,
    cgroups: { locate: (path) => locateGroup(path, "cgroupfs") },
    events: {
      ofPod: (_, { reason, message }, container) =>
        recorded.push({ on: container ?? "pod", reason, message }),
      ofNode: ({ reason, message }) => recorded.push({ on: "node", reason, message }),
    },
    metrics: new MetricsRegistry(),
    oomCounts,
  });
  const podChanged = () => {
    for (const listener of listeners) listener();
  };
  return { clock, waiting, readAt, recorded, scope, listeners, podChanged, oomCounts };
}

async function watched(lines: readonly string[], pod: Pod): Promise<readonly RecordedEvent[]> {
  const { clock, waiting, recorded, scope } = startWatch(pod);
  await clock.advance(12_500);
  waiting.push([...lines]);
  await clock.advance(10_000);
  await scope[Symbol.asyncDispose]();
  return recorded;
}

const POD: Pod = {
  metadata: { name: "eater", uid: "x" },
  spec: {
    containers: [{ name: "main", image: "i", resources: { limits: { memory: "32Mi" } } }],
    resources: { limits: { memory: "64Mi" } },
  },
};
const VICTIM = `/kubepods/burstable/podx/${ID}`;

test("OOM kills are counted by the group whose limit was reached, once for each report", async () => {
  const { clock, waiting, scope, oomCounts } = startWatch(POD);
  await clock.advance(12_500);
  const together = "Memory cgroup out of memory: Killed process 5 (b) total-vm:1kB, anon-rss:4kB";
  waiting.push([...memcg(VICTIM, VICTIM), together, ...memcg(VICTIM, VICTIM)]);
  waiting.push([...memcg("/kubepods/burstable/podx", VICTIM), ...global(VICTIM)]);
  await clock.advance(40_000);
  await scope[Symbol.asyncDispose]();
  const paths = [VICTIM, "/kubepods/burstable/podx", "/kubepods/burstable", "/"];
  assert.deepEqual(
    paths.map((path) => oomCounts.of(path)),
    [2, 1, 0, 1],
  );
});

test("an OOM kill is reported with its victim and limit", async () => {
  const head = "Process tail (pid 4538) holding 31 MiB was killed: ";
  for (const [limit, text] of [
    [VICTIM, "the memory limit of the container (32Mi) is reached"],
    [
      "/kubepods/burstable/podx",
      "the memory limit of the pod (64Mi) is reached by its containers together",
    ],
    ["/kubepods/burstable", "the memory limit of all burstable pods (qosReserved) is reached"],
    ["/outer/kubepods", "the memory limit of all pods of the node is reached"],
    ["/outer", "a memory limit above all pods is reached"],
  ] as const) {
    const recorded = await watched(memcg(limit, VICTIM), POD);
    assert.deepEqual(recorded, [{ on: "main", reason: "OOMKilling", message: head + text }]);
  }
  const [node] = await watched(global(VICTIM), POD);
  assert.equal(
    node?.message,
    "Process stress,with=commas (pid 77) holding 2 MiB was killed: the node has no memory left",
  );
});

test("outside of pods only the machine's own shortage of memory is reported", async () => {
  const event = {
    on: "node",
    reason: "SystemOOM",
    message: "System OOM encountered, victim process: stress,with=commas, pid: 77",
  };
  assert.deepEqual(await watched(global("/"), POD), [event]);
  assert.deepEqual(await watched(global("/system.slice/a.service"), POD), [event]);
  assert.deepEqual(await watched(memcg("/db.slice", "/db.slice/db"), POD), []);
  const [root] = await watched(memcg("/", "/"), POD);
  assert.equal(root?.reason, "SystemOOM");
  assert.deepEqual(await watched(memcg("/kubepods/podgone", "/kubepods/podgone/c"), POD), []);
});

test("the kernel's log is read seldom at rest, and soon after a pod has changed", async () => {
  const { clock, waiting, readAt, recorded, scope, listeners, podChanged } = startWatch(POD);
  await clock.advance(12_000);
  assert.deepEqual(readAt.splice(0), [0, 10_000]);
  const [first = "", ...others] = memcg(VICTIM, VICTIM);
  waiting.push([first, others[0] ?? ""], others.slice(1));
  for (let i = 0; i < 10; i += 1) podChanged();
  await clock.advance(0);
  assert.deepEqual([readAt.splice(0), recorded.length], [[12_000], 0]);
  podChanged();
  await clock.advance(1_000);
  assert.deepEqual(
    [readAt.splice(0), recorded.length],
    [[13_000], 1],
    "a report that was not complete",
  );
  await scope[Symbol.asyncDispose]();
  assert.equal(listeners.size, 0);
});

test("a line longer than the kernel writes is left out at once", () => {
  const part = "oom_memcg=/a,task_memcg=/a,task=x,pid=1,";
  const line = `oom-kill:constraint=CONSTRAINT_MEMCG,${part.repeat(2_000)}`;
  assert.deepEqual(readOomLines(NOTHING, [line]), NOTHING);
});
