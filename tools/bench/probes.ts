/**
 * What probes cost a node: `node tools/bench/probes.ts [minutes] [pods]`. The agent as it is shipped, in a
 * box with containerd; every pod has three HTTP and TCP probes with a period of one second. Prints a line a
 * minute, then how late attempts began. Figures only: machines differ.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Pod } from "../../src/api/generated/types.ts";
import type { ProbeReport } from "../../src/subsystems/probes/probes.ts";
import { type Box, withBox } from "../../test/box/box.ts";
import { TEST_IMAGE } from "../../test/box/images.ts";
import { PORTS } from "../../test/probes/box-targets.ts";
import { answerOf } from "../../test/server/http.ts";
import { askKubelet, programOf, RunningKubelet } from "./kubelet.ts";
import { machineCpuMs, processFigures } from "./process-figures.ts";

const BUILD = fileURLToPath(new URL("../build.mjs", import.meta.url));
const TARGETS = fileURLToPath(new URL("../../test/probes/box-targets.ts", import.meta.url));
/** The agent keeps the last 20 attempts of each probe, which at one a second must be read in time. */
const ASK_EVERY_MS = 15_000;
const WARM_UP_MS = 30_000;
/** TCP states as the kernel numbers them. */
const TIME_WAIT = "06";

function podOf(i: number, host: string): Pod {
  const timing = { periodSeconds: 1, timeoutSeconds: 1 };
  const tcp = { ...timing, tcpSocket: { host, port: PORTS.tcp } };
  const http = {
    ...timing,
    httpGet: { host, port: PORTS.http, path: "/healthz", scheme: "HTTP" as const },
  };
  const plain = { image: TEST_IMAGE, command: ["sleep", "2147483647"] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `probed-${i}`, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        { ...plain, name: "one", livenessProbe: tcp, readinessProbe: http },
        { ...plain, name: "two", livenessProbe: i % 2 === 0 ? tcp : http },
      ],
    },
  };
}

async function probesOf(box: Box): Promise<readonly ProbeReport[]> {
  const socketPath = box.path("/run/nodelet/agent.sock");
  const path = "/nodelet/v1/probes";
  const { body } = await answerOf(request({ socketPath, path, agent: false }));
  return (JSON.parse(body) as { readonly items: readonly ProbeReport[] }).items;
}

function timeWait(box: Box): number {
  const tables = ["tcp", "tcp6"].map((name) =>
    readFileSync(`/proc/${box.initPid}/net/${name}`, "utf8"),
  );
  return tables
    .flatMap((table) => table.split("\n").slice(1))
    .filter((line) => line.trim().split(/\s+/)[3] === TIME_WAIT).length;
}

const attemptsOf = (probes: readonly ProbeReport[]) =>
  probes.reduce((sum, { counts: c }) => sum + c.successful + c.failed + c.unknown, 0);

interface Watched {
  /** How late each attempt began, sorted. */
  readonly lateMs: readonly number[];
  readonly failed: number;
}

async function watch(box: Box, agent: RunningKubelet, minutes: number): Promise<Watched> {
  const late = new Map<string, number>();
  let failed = 0;
  console.log(
    "minute   tries/s   agent millicores   RSS MiB   anonymous MiB   TIME_WAIT   machine busy %",
  );
  for (let minute = 1; minute <= minutes; minute += 1) {
    const made = attemptsOf(await probesOf(box));
    const before = processFigures(agent.process.pid);
    const busy = machineCpuMs();
    const began = performance.now();
    while (performance.now() - began < 60_000) {
      await sleep(Math.min(ASK_EVERY_MS, 60_000 - (performance.now() - began)));
      for (const { podUid, container, kind, history } of await probesOf(box))
        for (const { atMs, lateMs } of history)
          late.set(`${podUid}/${container}/${kind}/${atMs}`, lateMs);
    }
    const seconds = (performance.now() - began) / 1000;
    const now = processFigures(agent.process.pid);
    const probes = await probesOf(box);
    failed = probes.reduce((sum, { counts: c }) => sum + c.failed + c.unknown, 0);
    const row = [
      `${minute}`,
      ((attemptsOf(probes) - made) / seconds).toFixed(1),
      ((now.cpuMs - before.cpuMs) / seconds).toFixed(0),
      now.rssMib.toFixed(1),
      now.anonymousMib.toFixed(1),
      `${timeWait(box)}`,
      ((machineCpuMs() - busy) / seconds / 10).toFixed(0),
    ];
    console.log(row.join("   "));
  }
  return { lateMs: [...late.values()].toSorted((a, b) => a - b), failed };
}

async function main(minutes: number, pods: number): Promise<void> {
  execFileSync(process.execPath, [BUILD], { stdio: "ignore" });
  const program = await programOf({ kind: "checkout", label: "nodelet" }, () => {});
  await withBox({}, async (box) => {
    box.spawn([process.execPath, TARGETS, box.nodeAddress]);
    const kubelet = await askKubelet(box, "nodelet", program);
    const agent = await RunningKubelet.start(box, kubelet, undefined);
    agent.create(Array.from({ length: pods }, (_, i) => podOf(i, box.nodeAddress)));
    const all = 3 * pods;
    const began = performance.now();
    for (;;) {
      const probes = await probesOf(box).catch(() => []);
      if (probes.filter(({ verdict }) => verdict === "success").length === all) break;
      agent.process.assertRunning();
      if (performance.now() - began > 600_000) throw new Error("the pods do not become ready");
      await sleep(1000);
    }
    console.log(
      `${pods} pods with ${all} probes ready after ${Math.round((performance.now() - began) / 1000)} s`,
    );
    await sleep(WARM_UP_MS);
    const { lateMs, failed } = await watch(box, agent, minutes);
    const at = (share: number) =>
      (lateMs[Math.min(lateMs.length - 1, Math.floor(lateMs.length * share))] ?? 0).toFixed(1);
    console.log(
      `${lateMs.length} attempts, late by: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, most ${at(1)} ms; ${failed} failed`,
    );
    await agent.process.stop();
  });
}

const [minutes = "10", pods = "110"] = process.argv.slice(2);
await main(Number(minutes), Number(pods));
