// What watching for pressure costs with 110 pods at rest: the agent's CPU time with eviction on and off, by turns.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PodSpec } from "../../src/api/generated/types.ts";
import { agentNodeFlags } from "../../src/outside/memory/memory.ts";
import { processFigures } from "../../tools/bench/process-figures.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { EvictionNode, MI, nameOf } from "./node.ts";

const PODS = 110;
const SECONDS = Number(process.env["SOAK_SECONDS"] ?? 120);
const TURNS = Number(process.env["SOAK_TURNS"] ?? 2);
/** What starts with the agent is over after that. */
const SETTLE_MS = 30_000;
const READY_WITHIN_MS = 300_000;
/** With limits the runtime's layers, 110 folders of logs and as many volumes are measured once a minute. */
const MAX_MILLICORES = { without: 3, with: 3 };
const EVICTED_WITHIN_MS = 15_000;

const ON = `maxPods: 120
evictionHard: {memory.available: 10Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%, pid.available: "10"}`;
const OFF = `maxPods: 120
evictionHard: {memory.available: "0%"}
localStorageCapacityIsolation: false`;

/** A pod at rest; with a limit its layer, log and volume are measured. */
function idlePod(isLimited: boolean): PodSpec {
  const storage = { "ephemeral-storage": "5Mi" };
  return {
    terminationGracePeriodSeconds: 1,
    hostNetwork: true,
    containers: [
      {
        name: "main",
        image: TEST_IMAGE,
        imagePullPolicy: "IfNotPresent",
        command: ["sleep", "1000000"],
        ...(isLimited ? { resources: { limits: storage } } : {}),
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", emptyDir: isLimited ? { sizeLimit: "3Mi" } : {} }],
  };
}

async function millicores(node: EvictionNode): Promise<number> {
  await sleep(SETTLE_MS);
  const pid = await node.agent.pid();
  const [before, began] = [processFigures(pid).cpuMs, performance.now()];
  await sleep(SECONDS * 1000);
  return (1000 * (processFigures(pid).cpuMs - before)) / (performance.now() - began);
}

/** After a rest, as long as nothing was measured, two pods write more than they may: one to its volume, one to its layer. */
async function checkWritersGo(node: EvictionNode, [first = "", second = ""]: readonly string[]) {
  const uid = (await node.pods()).find((pod) => nameOf(pod) === first)?.metadata?.uid;
  const write = (path: string) => ["sh", "-c", `head -c ${40 * MI} /dev/zero >${path}`];
  await node.box.run(
    write(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/data/big`),
  );
  await node.agent.command("exec", second, "--", ...write("/tmp/big"));
  const tookMs = await node.until(
    "who writes is evicted",
    () => node.evicted(),
    (names) => [first, second].every((name) => names.includes(name)),
  );
  console.log(`# evicted ${Math.round(tookMs)} ms after they wrote`);
  assert.ok(tookMs < EVICTED_WITHIN_MS, `${tookMs} ms`);
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, each) => sum + each, 0) / values.length;

for (const limits of ["without", "with"] as const)
  test(`eviction of ${PODS} pods ${limits} limits on local storage costs at most ${MAX_MILLICORES[limits]} millicores`, async () => {
    await using node = await EvictionNode.start({
      config: ON,
      nodeFlags: agentNodeFlags(undefined),
    });
    const names = Array.from({ length: PODS }, (_, i) => `idle-${i}`);
    for (const name of names) await node.create(name, idlePod(limits === "with"));
    await node.until(
      "all pods run",
      () => node.lives(),
      (lives) => names.every((name) => / 0 true/.test(lives[name] ?? "")),
      READY_WITHIN_MS,
    );
    const figures: { on: number[]; off: number[] } = { on: [], off: [] };
    for (let turn = 0; turn < TURNS; turn += 1)
      for (const [kind, config] of [
        ["on", ON],
        ["off", OFF],
      ] as const) {
        await node.restart(config);
        figures[kind].push(await millicores(node));
        if (kind === "on" && limits === "with")
          await checkWritersGo(node, names.slice(2 * turn, 2 * turn + 2));
      }
    const cost = mean(figures.on) - mean(figures.off);
    console.log(`# millicores: ${JSON.stringify(figures)}, eviction ${cost.toFixed(2)}`);
    assert.ok(cost <= MAX_MILLICORES[limits], `${cost}`);
  });
