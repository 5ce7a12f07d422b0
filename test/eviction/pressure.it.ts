// A node of `nodelet up` that runs short of memory, as its user sees it with kubectl and `nodelet why`: who is evicted,
// what is reported, and that the node is as before afterwards. The pods come from the node's own API, since static ones stay.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Node, Pod, PodSpec } from "../../src/api/generated/types.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { Kubectl, PROGRAMS, programOf } from "../localapi/kubectl.ts";
import { STAY } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const IMAGE = "localhost/nodelet/hello:1";
const WAIT_MS = 60_000 * TIMEOUT_FACTOR;
/** What all pods may use together; 100 MiB of it are to be left. */
const PODS_MIB = 400;
const STORE_MIB = 800;
const TRANSITION = "20s";

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;

let node: NodeBox;
let kubectl: Kubectl;

/** Holds so many MiB of memory. */
const holds = (mib: number) => {
  const bytes = mib * 2 ** 20;
  return `{ head -c ${bytes} /dev/zero; sleep 3600; } | tail -c ${bytes} >/dev/null`;
};

const pod = (script: string, more: Partial<Container> = {}): PodSpec => ({
  terminationGracePeriodSeconds: 2,
  dnsPolicy: "Default",
  containers: [
    {
      name: "main",
      image: IMAGE,
      imagePullPolicy: "IfNotPresent",
      command: ["sh", "-c", script],
      ...more,
    },
  ],
});

async function apply(pods: Readonly<Record<string, PodSpec>>): Promise<void> {
  const items = Object.entries(pods).map(([name, spec]) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec,
  }));
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl.run(["apply", "-f", "-"], { stdin });
}

const read = async (name: string) =>
  JSON.parse(await kubectl.run(["get", "pod", name, "-o", "json"])) as Pod;

async function until<T>(
  what: string,
  read: () => Promise<T>,
  test: (seen: T) => boolean,
): Promise<T> {
  const began = performance.now();
  for (;;) {
    const seen = await read();
    if (test(seen)) return seen;
    if (performance.now() - began > WAIT_MS) assert.fail(await story(what, seen));
    await sleep(250);
  }
}

/** What a reader of a failure needs. */
async function story(what: string, seen: unknown): Promise<string> {
  const run = async (script: string) => (await node.box.exec(["sh", "-c", script])).stdout;
  const plan = await node.nodelet(["plan", "--evict"]);
  const name = (await kubectl.run(["get", "nodes", "-o", "name"])).trim().replace("node/", "");
  const usage = await kubectl.run(["get", "--raw", `/api/v1/nodes/${name}/proxy/stats/summary`]);
  return [
    `${what}: ${JSON.stringify(seen).slice(0, 2000)}`,
    `${plan.stdout}${plan.stderr}`,
    JSON.stringify((JSON.parse(usage) as { readonly pods: unknown }).pods),
    await run("tail -n 30 /var/log/nodelet/agent.log; df -h /var/lib; df -i /var/lib"),
  ].join("\n");
}

const isReady = ({ status }: Pod) =>
  status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true;
const isEvicted = ({ status }: Pod) => status?.phase === "Failed" && status.reason === "Evicted";

const untilEvicted = (name: string) => until(`${name} is evicted`, () => read(name), isEvicted);
const untilReady = (name: string) => until(`${name} is ready`, () => read(name), isReady);

async function condition(type: string): Promise<string | undefined> {
  const { items } = JSON.parse(await kubectl.run(["get", "nodes", "-o", "json"])) as {
    readonly items: readonly Node[];
  };
  return items[0]?.status?.conditions?.find((each) => each.type === type)?.status;
}

const untilCondition = (type: string, status: string) =>
  until(
    `${type} is ${status}`,
    () => condition(type),
    (seen) => seen === status,
  );

/** Makes the machine a node with these flags. */
async function start(...flags: readonly string[]): Promise<void> {
  node = await bareMachine({ storeMib: STORE_MIB });
  await node.run(
    "up",
    "--demo",
    "--detach",
    "--until-ready",
    "--",
    ...flags,
    ...[`--eviction-pressure-transition-period=${TRANSITION}`],
  );
  kubectl = new Kubectl(node, program ?? "");
}

describe("a node that runs short of memory", { skip }, () => {
  before(() => {
    const total = /^MemTotal: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
    const reserved = Number(total) * 1024 - PODS_MIB * 2 ** 20;
    return start("--eviction-hard=memory.available<100Mi", `--system-reserved=memory=${reserved}`);
  });
  after(() => node?.[Symbol.asyncDispose]());

  test("memory: the pod beyond its request goes, its neighbours and the node live on", async () => {
    const requests = { memory: "80Mi" };
    await apply({
      small: pod(holds(10)),
      within: pod(holds(50), { resources: { requests } }),
    });
    await untilReady("small");
    await untilReady("within");
    assert.equal(await condition("MemoryPressure"), "False");
    await apply({ hog: pod(holds(260)) });
    const { status } = await untilEvicted("hog");
    assert.match(
      status?.message ?? "",
      /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \d+(Ki|Mi)?\. Container main was using \d+(Ki|Mi)?, request is 0, has larger consumption of memory\. $/,
    );
    const disruption = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [disruption?.status, disruption?.reason, disruption?.message],
      ["True", "TerminationByKubelet", status?.message],
    );
    await untilCondition("MemoryPressure", "True");
    await apply({ late: pod(STAY) });
    const late = await until(
      "late is refused or waits",
      () => read("late"),
      (seen) => seen.status !== undefined,
    );
    assert.ok(!isReady(late));
    await untilCondition("MemoryPressure", "False");
    for (const name of ["small", "within"]) assert.ok(isReady(await read(name)), name);
    const events = await kubectl.run(["get", "events"]);
    assert.match(events, /Warning +EvictionThresholdMet +node\/\S+ +Attempting to reclaim memory/);
    assert.match(events, /Warning +Evicted +pod\/hog +The node was low on resource: memory/);
    assert.match(events, /NodeHasInsufficientMemory/);
    assert.match(events, /NodeHasSufficientMemory/);
    const why = await node.run("why", "hog");
    assert.match(why.replace(/\s+/g, " "), /below the hard threshold 100Mi/);
    await kubectl.run(["delete", "pod", "hog", "small", "within", "late"]);
  });
});
