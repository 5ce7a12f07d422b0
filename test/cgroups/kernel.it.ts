// What pods get from the real kernel, with real containerd.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Box, withBox } from "../box/box.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { BoxedAgent, STAY } from "../support/agent.ts";
import { cpuUsed, disguise, groupValue } from "../support/cgroup-box.ts";
import { pod } from "./pods.ts";

const GI = 2 ** 30;
const { version } = cgroupRoots();
const MEMORY_LIMIT = version === 1 ? "memory.limit_in_bytes" : "memory.max";

const QOS_RESERVED = "featureGates: {QOSReserved: true}\nqosReserved: {memory: 100%}";
const ALL_MEMORY = 'evictionHard: {memory.available: "0%"}';

test("qosReserved: the classes' limits follow pods that come and go, and are lifted when it is off", () =>
  withBox({}, async (box) => {
    await disguise(box, { cpus: 3, memoryBytes: 8 * GI });
    const agent = await BoxedAgent.start(box, { config: `${QOS_RESERVED}\n${ALL_MEMORY}` });
    const limits = () =>
      ["burstable", "besteffort"].map(
        (tier) => Number(groupValue(box, `/kubepods/${tier}`, MEMORY_LIMIT)) / GI,
      );
    const become = (wanted: readonly number[]) =>
      agent.until(
        `the limits are ${wanted.join(" and ")} GiB`,
        () => `${limits()}` === `${wanted}`,
      );
    await become([8, 8]);
    const one = { cpu: "1", memory: "1Gi" };
    agent.apply("g.yaml", pod("g", STAY, { requests: one, limits: one }));
    await become([7, 7]);
    const two = { requests: { memory: "2Gi" }, limits: {} };
    agent.apply("b.yaml", pod("b", STAY, two));
    await become([7, 5]);
    await agent.untilReady(2);
    agent.remove("g.yaml");
    await become([8, 6]);
    await agent.stop();
    await new BoxedAgentWithout(box).start();
    await agent.until("the limits are lifted", () => limits().every((limit) => !(limit < 1000)));
  }));

/** The same agent with the option off. */
class BoxedAgentWithout {
  readonly #box: Box;
  constructor(box: Box) {
    this.#box = box;
  }
  async start(): Promise<void> {
    await BoxedAgent.start(this.#box, { config: ALL_MEMORY });
  }
}

const BURN = ["taskset", "1", "burn"];
const burners = (count: number) => [
  "sh",
  "-c",
  `${Array.from({ length: count }, () => `${BURN.join(" ")} &`).join(" ")} wait`,
];

/** CPU time that each group gets within the same few seconds. */
async function share(box: Box, paths: readonly string[], seconds: number) {
  const before = paths.map((path) => cpuUsed(box, path));
  await sleep(seconds * 1000);
  return paths.map((path, i) => cpuUsed(box, path) - (before[i] ?? 0));
}

test("a saturated CPU is shared 3 to 1 by requests of 3 to 1", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const requests = (cpu: string) => ({ requests: { cpu }, limits: {} });
    agent.apply("big.yaml", pod("big", burners(2), requests("600m")));
    agent.apply("small.yaml", pod("small", burners(2), requests("200m")));
    await agent.untilReady(2);
    const paths = ["/kubepods/burstable/podbig", "/kubepods/burstable/podsmall"];
    const [big = 0, small = 0] = await share(box, paths, 8);
    assert.ok(Math.abs(big / small - 3) <= 0.3, `${(big / small).toFixed(2)} to 1`);
    console.log(`CPU time with requests of 3:1 is ${(big / small).toFixed(3)}:1`);
  }));

test("a best-effort hog does not take a guaranteed pod's share", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const one = { cpu: "1", memory: "64Mi" };
    agent.apply("hog.yaml", pod("hog", burners(8), undefined));
    agent.apply("calm.yaml", pod("calm", burners(1), { requests: one, limits: one }));
    await agent.untilReady(2);
    const paths = ["/kubepods/podcalm", "/kubepods/besteffort/podhog"];
    const [calm = 0, hog = 0] = await share(box, paths, 5);
    const part = calm / (calm + hog);
    // On v2 the least weight is 1 against 39, on v1 2 against 1024.
    assert.ok(part > (version === 1 ? 0.97 : 0.94), `the guaranteed pod got ${part}`);
    console.log(`beside 8 best-effort hogs the guaranteed pod has ${(part * 100).toFixed(1)} %`);
  }));
