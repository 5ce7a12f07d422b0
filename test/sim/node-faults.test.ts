// What a node promises while the machine below its agent fails: one row for each fault, as in docs/faults.md.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { conditionOf, podOf } from "./cluster-world.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { type FaultName, NodeFaults } from "./node-faults.ts";
import { commandOf, type Program } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const FAULT_MS = 150_000;
/** Longer than the longest pause of anything that is tried again. */
const SETTLE_MS = 6 * 60_000;
const WATCH_SETTLE_MS = 12 * 60_000;
const PODS = { collection: "pods", namespace: "default" };

interface Row {
  readonly fault: FaultName;
  /** What the agent says meanwhile, in its log, its health checks or the node's Ready condition. */
  readonly reported: RegExp | undefined;
  /** Whether pods that are created meanwhile are started meanwhile. */
  readonly starts: boolean;
  readonly settleMs?: number;
}

const ROWS: readonly Row[] = [
  { fault: "ENOSPC", reported: /no space left on device/, starts: false },
  { fault: "EMFILE", reported: /EMFILE/, starts: false },
  { fault: "EIO", reported: /EIO/, starts: false },
  {
    fault: "slow disk",
    reported: /thread-pool: file operations take more than 10s/,
    starts: false,
  },
  { fault: "read-only remount", reported: /EROFS/, starts: false },
  {
    fault: "containerd hanging",
    reported: /runtime-listing|waiting for the container runtime/,
    starts: false,
  },
  { fault: "API server hanging", reported: /lease/, starts: false },
  { fault: "half-open connections", reported: /lease/, starts: false, settleMs: WATCH_SETTLE_MS },
  { fault: "1 % packet loss", reported: undefined, starts: true },
  { fault: "clock that jumps", reported: undefined, starts: true },
];

const SLEEP: Program = { kind: "sleep" };
const exits = (code: number, afterMs: number): Program => ({ kind: "exit", code, afterMs });

/** A container with every kind of probe. */
function probed(name: string): Pod {
  const pod = podOf(name, SLEEP, "Always") as unknown as Pod;
  const times = { periodSeconds: 5, timeoutSeconds: 1, failureThreshold: 3 };
  const [main] = pod.spec?.containers ?? [];
  assert.ok(main);
  const by = (kind: string, handler: object) => ({
    ...main,
    name: kind,
    livenessProbe: { ...handler, ...times },
    readinessProbe: { ...handler, ...times },
  });
  const containers = [
    by("exec", { exec: { command: commandOf(exits(0, 0)) } }),
    by("http", { httpGet: { port: 80 } }),
    by("tcp", { tcpSocket: { port: 80 } }),
    by("grpc", { grpc: { port: 80 } }),
  ];
  const volumes = [{ name: "work", emptyDir: {} }];
  return { ...pod, spec: { ...pod.spec, containers, volumes } };
}

/** One history: pods of all kinds, a fault, an agent that may be killed in the midst of it, and the end of it. */
class Story {
  readonly world = new World(7, {}, { cluster: true });
  readonly faults: NodeFaults;
  readonly #api: FakeApiServer;
  readonly #output = new Set<string>();
  #failures = 0;

  constructor() {
    const { api } = this.world;
    assert.ok(api);
    this.#api = api;
    this.faults = new NodeFaults(this.world, api);
  }

  pod(name: string): Pod | undefined {
    return this.#api.objects.find({ ...PODS, name }) as Pod | undefined;
  }

  create(pod: Pod | Record<string, unknown>): void {
    this.#api.objects.create(PODS, pod as never);
  }

  delete(name: string): void {
    this.#api.objects.delete({ ...PODS, name }, {});
  }

  /** Lets time pass and takes down what the agent says of itself. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10_000) {
      await this.world.advance(Math.min(left, 10_000));
      this.#supervise();
      for (const { name, problem } of this.world.agent?.health.problems.get() ?? [])
        this.#output.add(`${name}: ${problem}`);
      for (const { why } of this.world.agent?.state.problems.get() ?? []) this.#output.add(why);
    }
  }

  /** An agent that could not start is started again, as systemd does. */
  #supervise(): void {
    const failures = this.world.trace.filter((line) =>
      / agent failed to start: /.test(line),
    ).length;
    if (failures === this.#failures) return;
    this.#failures = failures;
    this.world.killAgent();
    this.world.startAgent();
  }

  get reported(): string {
    return [...this.#output].join("\n");
  }

  /** Ids of the containers of a pod that run, with how often they were restarted. */
  running(name: string): readonly string[] {
    return (this.pod(name)?.status?.containerStatuses ?? []).map(
      ({ containerID, restartCount, state }) =>
        `${containerID} ${restartCount} ${state?.running ? "runs" : "ended"}`,
    );
  }

  get ready(): string | undefined {
    const node = this.#api.objects.find({ collection: "nodes", namespace: undefined, name: "sim" });
    return conditionOf(node as never, "Ready");
  }

  /** How often containers of a pod were started. */
  starts(name: string): number {
    const uid = this.pod(name)?.metadata?.uid;
    return this.world.runtime.actions.filter(
      (action) => action.op === "startContainer" && action.uid === uid,
    ).length;
  }
}

async function play({ fault, reported, starts, settleMs = SETTLE_MS }: Row, killed: boolean) {
  const story = new Story();
  const { world, faults } = story;
  try {
    await world.host.files.makeDirectory(MANIFESTS, 0o755);
    const fixed = JSON.stringify(podOf("fixed", SLEEP, "Always"));
    await world.host.files.writeAtomic(`${MANIFESTS}/fixed.json`, fixed, 0o644);
    story.create(probed("serves"));
    story.create(podOf("job", exits(0, 90_000), "Never"));
    story.create(podOf("fails", exits(3, 90_000), "Never"));
    story.create(podOf("goes", SLEEP, "Always"));
    world.startAgent();
    await story.advance(60_000);
    const before = ["serves", "fixed-sim"].map((name) => story.running(name));
    assert.deepEqual(
      before.flat().filter((line) => !/ 0 runs$/.test(line)),
      [],
    );
    assert.equal(conditionOf(story.pod("serves"), "Ready"), "True");

    faults.begin(fault);
    story.create(podOf("late", SLEEP, "Always"));
    story.delete("goes");
    await story.advance(FAULT_MS / 2);
    if (killed) {
      world.killAgent();
      world.startAgent();
    }
    await story.advance(FAULT_MS / 2);
    const meanwhile = story.running("late").length > 0;
    faults.end(fault);
    await story.advance(settleMs);

    if (reported) assert.match(`${story.reported}\n${world.trace.join("\n")}`, reported);
    if (starts) assert.ok(meanwhile, "a pod that was created meanwhile was not started");
    assert.deepEqual(
      ["serves", "fixed-sim"].map((name) => story.running(name)),
      before,
      "what ran goes on running",
    );
    for (const name of ["serves", "fixed-sim", "late"])
      assert.equal(conditionOf(story.pod(name), "Ready"), "True", `${name} is not Ready`);
    assert.equal(story.pod("job")?.status?.phase, "Succeeded");
    assert.equal(story.pod("fails")?.status?.phase, "Failed");
    for (const name of ["job", "fails", "late"])
      assert.equal(story.starts(name), 1, `${name} was started more than once`);
    assert.equal(story.pod("goes"), undefined, "what was deleted is gone");
    assert.equal(story.ready, "True");
    assert.deepEqual(world.agent?.health.problems.get(), []);
    assert.deepEqual(
      world.agent?.state.problems.get().map(({ kind, path, why }) => `${kind} ${path}: ${why}`),
      [],
    );
  } catch (error) {
    console.log(world.trace.slice(-60).join("\n"));
    throw error;
  }
}

for (const row of ROWS)
  for (const killed of [false, true])
    test(`${row.fault}${killed ? ", and the agent is killed meanwhile" : ""}: what runs goes on, nothing is lost or doubled, it is reported, all is well after`, () =>
      play(row, killed));
