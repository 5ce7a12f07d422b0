// Limits of pods on local storage, on real containerd: who writes more than a limit of its own is evicted in the Go
// kubelet's words, all of them in the same round, and those within their limits stay.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec, Volume } from "../../src/api/generated/types.ts";
import { STAY } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { EvictionNode, isEvicted, MI, nameOf, podSpec } from "./node.ts";
import { isDisrupted } from "./suffer.ts";

/** The runtime measures layers every ten seconds, and a round follows right after; the rest is what a busy machine takes. */
const EVICTED_WITHIN_MS = 25_000 * TIMEOUT_FACTOR;

const limited = (storage: string) => ({ resources: { limits: { "ephemeral-storage": storage } } });
const write = (mib: number, to: string) => `dd if=/dev/zero of=${to} bs=1M count=${mib}; ${STAY}`;

function withVolume(emptyDir: NonNullable<Volume["emptyDir"]>, mib: number): PodSpec {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  const volumes = [{ name: "data", emptyDir }];
  return { ...podSpec(write(mib, "/data/big"), { volumeMounts }), volumes };
}

/** One container beyond its limit, and the pod within the sum. */
function two(): PodSpec {
  const first = podSpec(write(50, "/tmp/big"), limited("20Mi"));
  const [second] = podSpec(STAY, limited("100Mi")).containers;
  assert.ok(second);
  return { ...first, containers: [...first.containers, { ...second, name: "second" }] };
}

const LINE = "$(head -c 1000 /dev/zero | tr '\\0' x)";
const POD_TEXT = "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ";

/** Each with the message that it ends with. */
const BEYOND: Readonly<Record<string, readonly [PodSpec, string]>> = {
  layer: [podSpec(write(50, "/tmp/big"), limited("20Mi")), POD_TEXT],
  log: [podSpec(`yes "${LINE}" | head -c ${50 * MI}; ${STAY}`, limited("20Mi")), POD_TEXT],
  // CVE-2020-8557: files that the agent keeps for the container.
  hosts: [podSpec(write(50, "/etc/hosts"), limited("20Mi")), POD_TEXT],
  message: [podSpec(write(50, "/dev/termination-log"), limited("20Mi")), POD_TEXT],
  volume: [
    withVolume({ sizeLimit: "5Mi" }, 40),
    'Usage of EmptyDir volume "data" exceeds the limit "5Mi". ',
  ],
  container: [two(), 'Container main exceeded its local ephemeral storage limit "20Mi". '],
};

const WITHIN: Readonly<Record<string, PodSpec>> = {
  "small-layer": podSpec(write(10, "/tmp/big"), limited("20Mi")),
  "small-volume": withVolume({ sizeLimit: "20Mi" }, 10),
  // The kernel itself holds it to its size.
  "memory-volume": withVolume({ medium: "Memory", sizeLimit: "5Mi" }, 40),
  free: podSpec(write(60, "/tmp/big")),
};

test("pods that write more than a limit of their own are evicted, the others stay", async () => {
  await using node = await EvictionNode.start({
    config: "evictionHard: {memory.available: 10Mi}\ncontainerLogMaxSize: 1Gi",
  });
  for (const [name, spec] of Object.entries(WITHIN)) await node.create(name, spec);
  await node.untilReady(...Object.keys(WITHIN));
  const lives = await node.lives();
  const began = performance.now();
  for (const [name, [spec]] of Object.entries(BEYOND)) await node.create(name, spec);
  const took = new Map<string, number>();
  await node.until(
    "all are evicted",
    async () => {
      for (const name of await node.evicted())
        if (!took.has(name)) took.set(name, Math.round(performance.now() - began));
      return [...took.keys()];
    },
    (names) => names.length >= Object.keys(BEYOND).length,
  );
  console.log(`# evicted so many ms after they were made: ${JSON.stringify([...took])}`);
  const evicted = (await node.pods()).filter(isEvicted);
  assert.deepEqual(
    Object.fromEntries(evicted.map((pod) => [nameOf(pod), pod.status?.message])),
    Object.fromEntries(Object.entries(BEYOND).map(([name, [, message]]) => [name, message])),
  );
  assert.ok(!evicted.some(isDisrupted), "they were at fault themselves");
  for (const [name, ms] of took) assert.ok(ms < EVICTED_WITHIN_MS, `${name} after ${ms} ms`);
  assert.equal(await node.condition("DiskPressure"), "False");
  assert.deepEqual(await node.lives(), lives, "the others run on");
});
