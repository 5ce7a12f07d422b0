// Resources of pods that change as they run, with kubectl, on real containerd, as the kernel shows them.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";
import { cgroupRoots } from "../box/prerequisites.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { groupValue } from "../support/cgroup-box.ts";

const KUBECTL = kubectlPath();
const skip = KUBECTL === undefined ? `needs kubectl from Debian (cache: ${CACHE_DIR})` : false;
const MI = 2 ** 20;
const { version } = cgroupRoots();
const DEADLINE_MS = 60_000;

function kubectlPath(): string | undefined {
  try {
    const path = join(fetchPackages("sid", ["kubectl"])[0] ?? "", "usr/bin/kubectl");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

type List = Readonly<Record<string, string>>;

/** A node of its own, and what tests ask of it. */
class ResizeNode implements AsyncDisposable {
  readonly node: NodeBox;

  private constructor(node: NodeBox) {
    this.node = node;
  }

  static async start(): Promise<ResizeNode> {
    const node = await bareMachine();
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

  async make(name: string, requests: List, limits: List, more: object = {}): Promise<void> {
    const container = {
      name: "main",
      image: "localhost/nodelet/hello:1",
      imagePullPolicy: "Never",
      command: ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.2; done"],
      resources: { requests, limits },
      ...more,
    };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { terminationGracePeriodSeconds: 2, dnsPolicy: "Default", containers: [container] },
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
      const pod = await this.pod(name);
      if (holds(pod)) return pod;
      if (performance.now() > deadline)
        assert.fail(`not in time: ${what}\n${JSON.stringify(pod.status, null, 1)}`);
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

  /** `kill -9` of agent and API, which are one process. */
  async killAgent(): Promise<void> {
    await this.node.box.exec([
      "sh",
      "-c",
      "kill -9 $(cat /run/nodelet/nodelet.pid 2>/dev/null || pgrep -f 'nodelet.*up' | head -1)",
    ]);
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
    const said =
      '{"containers":[{"name":"main","resources":{"limits":{"cpu":"400m","memory":"192Mi"},"requests":{"cpu":"200m","memory":"96Mi"}}}],"generation":2}';
    assert.deepEqual(await at.reasons("web"), [
      `ResizeStarted Pod resize started: ${said}`,
      `ResizeCompleted Pod resize completed: ${said}`,
    ]);
  });
  await t.test("less", async () => {
    await at.resize("web", { cpu: "50m", memory: "32Mi" }, { cpu: "100m", memory: "64Mi" });
    const after = await settled("50m", 3);
    assert.deepEqual(at.groups(after), [shown(100, 50, 64), shown(100, 50, 64)]);
    assert.equal(restarts(after), 0);
  });
  await t.test("why tells it", async () => {
    const { stdout } = await at.node.nodelet(["why", "web"]);
    assert.match(stdout, /given the resources that were asked for: main cpu=50m memory=32Mi/);
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
