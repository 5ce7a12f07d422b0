// Resources of pods that change as they run, with kubectl, on real containerd, as the kernel shows them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import { CACHE_DIR } from "../../tools/debian-suite.mjs";
import type { BoxOptions } from "../box/box.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { PROGRAMS, programOf } from "../localapi/kubectl.ts";
import { groupValue } from "../support/cgroup-box.ts";
import { STAY } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const KUBECTL = PROGRAMS.map(programOf).at(-1);
const skip = KUBECTL === undefined ? `needs kubectl from Debian (cache: ${CACHE_DIR})` : false;
const MI = 2 ** 20;
const { version } = cgroupRoots();
const DEADLINE_MS = 60_000 * TIMEOUT_FACTOR;

type List = Readonly<Record<string, string>>;

/** A node of its own, and what tests ask of it. */
class ResizeNode implements AsyncDisposable {
  readonly node: NodeBox;

  private constructor(node: NodeBox) {
    this.node = node;
  }

  static async start(options: BoxOptions = {}): Promise<ResizeNode> {
    const node = await bareMachine(options);
    // The demo brings an image that pods can run.
    await node.run("up", "--demo", "--detach", "--until-ready");
    return new ResizeNode(node);
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    const result = await this.node.box.exec([KUBECTL ?? "", ...args], {
      env: { KUBECONFIG: "/etc/nodelet/kubeconfig", HOME: "/root" },
      timeoutMs: DEADLINE_MS,
    });
    assert.equal(result.code, 0, `kubectl ${args.join(" ")}: ${result.stdout}${result.stderr}`);
    return result.stdout;
  }

  async make(
    name: string,
    requests: List,
    limits: List,
    ...[more = {}, spec = {}]: readonly object[]
  ): Promise<void> {
    const container = {
      name: "main",
      image: "localhost/nodelet/hello:1",
      imagePullPolicy: "Never",
      command: ["sh", "-c", STAY],
      resources: { requests, limits },
      ...more,
    };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 2,
        dnsPolicy: "Default",
        containers: [container],
        ...spec,
      },
    };
    await this.node.box.exec(["sh", "-c", `cat > /tmp/${name}.json`], {
      stdin: JSON.stringify(pod),
    });
    await this.kubectl("apply", "-f", `/tmp/${name}.json`);
    await this.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=30s");
  }

  resize(name: string, requests: List, limits: List): Promise<string> {
    const patch = { spec: { containers: [{ name: "main", resources: { requests, limits } }] } };
    const json = JSON.stringify(patch);
    return this.kubectl("patch", "pod", name, "--subresource", "resize", "--patch", json);
  }

  async pod(name: string): Promise<Pod> {
    return JSON.parse(await this.kubectl("get", "pod", name, "-o", "json")) as Pod;
  }

  async until(what: string, name: string, holds: (pod: Pod) => boolean): Promise<Pod> {
    const deadline = performance.now() + DEADLINE_MS;
    for (;;) {
      // While the agent is away so is its API.
      const pod = await this.pod(name).catch(() => undefined);
      if (pod && holds(pod)) return pod;
      if (performance.now() > deadline)
        assert.fail(`not in time: ${what}\n${JSON.stringify(pod?.status, null, 1)}`);
      await sleep(100);
    }
  }

  /** Values of the pod's group and of its container's: CPU quota and memory limit. */
  groups({ metadata, status }: Pod): readonly string[] {
    const parent = `/kubepods/burstable/pod${metadata?.uid}`;
    const id = status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    return [parent, `${parent}/${id}`].map((path) => {
      const value = (file: string) => groupValue(this.node.box, path, file);
      return version === 1
        ? `${value("cpu.cfs_quota_us")} ${value("cpu.shares")} ${value("memory.limit_in_bytes")}`
        : `${value("cpu.max")?.split(" ")[0]} ${value("memory.max")}`;
    });
  }

  async reasons(name: string): Promise<readonly string[]> {
    const path = "jsonpath={range .items[*]}{.reason} {.message}{'\\n'}{end}";
    const field = `involvedObject.name=${name}`;
    const text = await this.kubectl("get", "events", "--field-selector", field, "-o", path);
    return text.split("\n").filter((line) => /Resize|restart/.test(line));
  }

  /** Bytes that the container of the pod uses. */
  usage({ metadata, status }: Pod): number {
    const id = status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
    const path = `/kubepods/burstable/pod${metadata?.uid}/${id}`;
    const file = version === 1 ? "memory.usage_in_bytes" : "memory.current";
    return Number(groupValue(this.node.box, path, file) ?? 0);
  }

  /** `kill -9` of the agent, which is started again by `up`. */
  async killAgent(): Promise<void> {
    const { agent } = JSON.parse(
      readFileSync(this.node.box.path("/run/nodelet/up.json"), "utf8"),
    ) as { readonly agent: { readonly pid: number } };
    await this.node.box.run(["kill", "-KILL", `${agent.pid}`]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
  }
}

/** What a group shows of milli CPUs limit, milli CPUs request and MiB of memory. */
const shown = (milli: number, request: number, mebibytes: number): string =>
  version === 1
    ? `${milli * 100} ${Math.floor((request * 1024) / 1000)} ${mebibytes * MI}`
    : `${milli * 100} ${mebibytes * MI}`;

const restarts = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount;
const conditionOf = ({ status }: Pod, type: string) =>
  status?.conditions?.find((each) => each.type === type);
const isDone = (pod: Pod) =>
  !conditionOf(pod, "PodResizePending") && !conditionOf(pod, "PodResizeInProgress");

test("resources change in the kernel without a restart, and with one by policy", {
  skip,
}, async (t) => {
  await using at = await ResizeNode.start();
  await at.make("web", { cpu: "100m", memory: "64Mi" }, { cpu: "200m", memory: "128Mi" });
  const before = await at.pod("web");
  assert.deepEqual(at.groups(before), [shown(200, 100, 128), shown(200, 100, 128)]);
  const settled = async (cpu: string, generation: number) =>
    await at.until(`resized to ${cpu}`, "web", (pod) => {
      const has = pod.status?.containerStatuses?.[0]?.resources?.requests?.["cpu"];
      return has === cpu && isDone(pod) && pod.status?.observedGeneration === generation;
    });
  await t.test("more", async () => {
    await at.resize("web", { cpu: "200m", memory: "96Mi" }, { cpu: "400m", memory: "192Mi" });
    const after = await settled("200m", 2);
    assert.deepEqual(at.groups(after), [shown(400, 200, 192), shown(400, 200, 192)]);
    assert.equal(restarts(after), 0);
    assert.equal(
      after.status?.containerStatuses?.[0]?.containerID,
      before.status?.containerStatuses?.[0]?.containerID,
    );
    const reported =
      '{"containers":[{"name":"main","resources":{"limits":{"cpu":"400m","memory":"192Mi"},"requests":{"cpu":"200m","memory":"96Mi"}}}],"generation":2}';
    assert.deepEqual(await at.reasons("web"), [
      `ResizeStarted Pod resize started: ${reported}`,
      `ResizeCompleted Pod resize completed: ${reported}`,
    ]);
  });
  await t.test("less", async () => {
    await at.resize("web", { cpu: "50m", memory: "32Mi" }, { cpu: "100m", memory: "64Mi" });
    const after = await settled("50m", 3);
    assert.deepEqual(at.groups(after), [shown(100, 50, 64), shown(100, 50, 64)]);
    assert.equal(restarts(after), 0);
  });
  await t.test("nodelet why explains it", async () => {
    const { stdout } = await at.node.nodelet(["why", "web"]);
    assert.match(stdout, /Resize accepted: main cpu=50m memory=32Mi/);
  });
  await t.test("a container with a policy restarts once", async () => {
    await at.make(
      "picky",
      { cpu: "100m", memory: "64Mi" },
      { cpu: "200m", memory: "128Mi" },
      { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] },
    );
    await at.resize("picky", { cpu: "150m", memory: "64Mi" }, { cpu: "300m", memory: "128Mi" });
    const calm = await at.until(
      "CPU",
      "picky",
      (pod) => isDone(pod) && at.groups(pod)[1] === shown(300, 150, 128),
    );
    assert.equal(restarts(calm), 0);
    await at.resize("picky", { cpu: "150m", memory: "80Mi" }, { cpu: "300m", memory: "160Mi" });
    const after = await at.until("memory", "picky", (pod) => restarts(pod) === 1 && isDone(pod));
    assert.deepEqual(at.groups(after), [shown(300, 150, 160), shown(300, 150, 160)]);
    assert.ok(
      (await at.reasons("picky")).includes("Killing Container main resize requires restart"),
    );
  });
});

test("a resize that does not fit is deferred, or infeasible", { skip }, async (t) => {
  await using at = await ResizeNode.start();
  const capacity = Number(
    (await at.kubectl("get", "nodes", "-o", "jsonpath={.items[0].status.allocatable.cpu}"))
      .replace(/^(\d+)$/, "$1000")
      .replace("m", ""),
  );
  const milli = (share: number) => `${Math.floor(capacity * share)}m`;
  await at.make("first", { cpu: milli(0.3) }, {});
  await at.make("second", { cpu: milli(0.4) }, {});
  await t.test("never", async () => {
    await at.resize("first", { cpu: "1000" }, {});
    const pod = await at.until(
      "it is refused",
      "first",
      (each) => conditionOf(each, "PodResizePending") !== undefined,
    );
    const { reason, message, observedGeneration } = conditionOf(pod, "PodResizePending") ?? {};
    assert.equal(reason, "Infeasible");
    assert.equal(observedGeneration, 2);
    assert.match(
      message ?? "",
      /^Node didn't have enough capacity: cpu, requested: 1000000, capacity: \d+$/,
    );
    const [reported = ""] = await at.reasons("first");
    assert.match(
      reported,
      /^ResizeInfeasible Pod resize Infeasible: \{"containers":.*"generation":2,"error":"Node didn't/,
    );
    const { resources } = pod.status?.containerStatuses?.[0] ?? {};
    assert.deepEqual(resources?.requests, { cpu: milli(0.3) });
  });
  await t.test("not now", async () => {
    await at.resize("first", { cpu: milli(0.7) }, {});
    const pod = await at.until(
      "it waits",
      "first",
      (each) => conditionOf(each, "PodResizePending")?.reason === "Deferred",
    );
    assert.match(
      conditionOf(pod, "PodResizePending")?.message ?? "",
      /^Node didn't have enough resource: cpu, requested: \d+, used: \d+, capacity: \d+$/,
    );
    assert.equal(restarts(pod), 0);
  });
  await t.test("done as soon as another pod has gone", async () => {
    await at.kubectl("delete", "pod", "second");
    const pod = await at.until("it is given", "first", (each) => isDone(each));
    assert.deepEqual(pod.status?.containerStatuses?.[0]?.resources?.requests, { cpu: milli(0.7) });
    assert.equal(restarts(pod), 0);
    const shares = Math.floor((Math.floor(capacity * 0.7) * 1024) / 1000);
    if (version === 1) assert.equal(at.groups(pod)[1]?.split(" ")[1], String(shares));
  });
});

test("memory in use is not cut off, and another agent goes on where one was killed", {
  skip,
}, async () => {
  await using at = await ResizeNode.start();
  const hold = "head -c 100m /dev/zero | tail -c 100m | sleep 600; sleep 600";
  await at.make(
    "hog",
    { cpu: "100m", memory: "64Mi" },
    { cpu: "200m", memory: "256Mi" },
    { command: ["sh", "-c", hold] },
  );
  await at.until("it holds memory", "hog", (pod) => at.usage(pod) > 90 * MI);
  await at.resize("hog", { cpu: "100m", memory: "32Mi" }, { cpu: "200m", memory: "48Mi" });
  const stuck = await at.until(
    "its resize fails",
    "hog",
    (pod) => conditionOf(pod, "PodResizeInProgress")?.reason === "Error",
  );
  assert.match(conditionOf(stuck, "PodResizeInProgress")?.message ?? "", /below current usage/);
  assert.equal(at.groups(stuck)[1], shown(200, 100, 256));
  assert.deepEqual(stuck.status?.containerStatuses?.[0]?.resources?.limits, {
    cpu: "200m",
    memory: "256Mi",
  });
  assert.deepEqual(stuck.status?.containerStatuses?.[0]?.allocatedResources, {
    cpu: "100m",
    memory: "32Mi",
  });
  assert.ok(
    (await at.reasons("hog")).some((line) => line.startsWith("ResizeError Pod resize error: ")),
  );
  await at.killAgent();
  await at.node.box.run(["pkill", "-x", "tail"]);
  const done = await at.until("it has less", "hog", (pod) => isDone(pod));
  assert.equal(restarts(done), 0);
  assert.deepEqual(at.groups(done), [shown(200, 100, 48), shown(200, 100, 48)]);
  const completed = (await at.reasons("hog")).filter((line) => line.startsWith("ResizeCompleted"));
  assert.equal(completed.length, 1);
});

// containerd 2.1 does not know UpdatePodSandboxResources, by which a runtime is informed of the pod's new limits.
const RUNTIMES: readonly (readonly [string, RegExp, BoxOptions])[] = [
  ["the machine's containerd", /^containerd:/, {}],
  ["containerd 2.1", /^containerd:\/\/v?2\.1\./, { containerd: "2.1", network: true }],
];
for (const [runtime, runtimeVersion, options] of RUNTIMES)
  test(`a pod limited as a whole, containers without limits of their own, ${runtime}`, {
    skip,
  }, async () => {
    await using at = await ResizeNode.start(options);
    const path = "jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}";
    assert.match(await at.kubectl("get", "nodes", "-o", path), runtimeVersion);
    await resizeAsAWhole(at);
  });

async function resizeAsAWhole(at: ResizeNode): Promise<void> {
  const whole = (cpu: number, mebibytes: number) => ({
    requests: { cpu: `${cpu}m`, memory: `${mebibytes}Mi` },
    limits: { cpu: `${2 * cpu}m`, memory: `${2 * mebibytes}Mi` },
  });
  await at.make("whole", {}, {}, {}, { resources: whole(100, 64) });
  const before = await at.pod("whole");
  assert.deepEqual(at.groups(before), [shown(200, 100, 128), shown(200, 200, 128)]);
  assert.deepEqual(before.status?.resources, whole(100, 64));
  for (const [cpu, mebibytes] of [
    [200, 96],
    [50, 48],
  ] as const) {
    const patch = JSON.stringify({ spec: { resources: whole(cpu, mebibytes) } });
    await at.kubectl("patch", "pod", "whole", "--subresource", "resize", "--patch", patch);
    const after = await at.until("it has it", "whole", (pod) => {
      const has = pod.status?.resources?.requests?.["cpu"];
      return has === `${cpu}m` && isDone(pod);
    });
    assert.deepEqual(at.groups(after), [
      shown(2 * cpu, cpu, 2 * mebibytes),
      shown(2 * cpu, 2 * cpu, 2 * mebibytes),
    ]);
    assert.deepEqual(after.status?.allocatedResources, whole(cpu, mebibytes).requests);
    assert.equal(restarts(after), 0);
  }
}
