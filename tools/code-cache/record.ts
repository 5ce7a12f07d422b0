// Records which functions a node runs until two pods have come and gone, as a node of a cluster, and which the frequent commands run: those that
// the code caches hold. Writes functions.tsv; needs what `npm run bench -- --cluster` needs, and about a minute:
//   node tools/setup.mjs test -- tools/code-cache/record.ts
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Box, startBox } from "../../test/box/box.ts";
import { startApiServer } from "../../test/kube/apiserver.ts";
import { ClusterDriver } from "../bench/cluster/cluster-driver.ts";
import { clusterPod, NAMESPACE, NODE, startClusterNode } from "../bench/cluster/cluster-node.ts";
import { askKubelet, programOf } from "../bench/kubelet.ts";
import { STORE_MIB, TIMEOUT_MS } from "../bench/round.ts";
import { listFunctions, PROGRAMS, RECORD } from "./code-cache.mjs";
import { type Coverage, calledFunctions } from "./coverage.ts";
import { PROGRAM_OFFSET } from "./program-text.mjs";

const DIST = join(import.meta.dirname, "../../dist");
/** So long after the last change, everything that it leads to has run. */
const TAIL_MS = 3_000;
/** A program of which fewer functions were called was not understood. */
const LEAST = 500;
const COMMANDS = [["--help"], ["version"], ["get", "pods", "-A"], ["why", `${NAMESPACE}/first`]];

/** Runs the node; each of its processes leaves a file in the folder when it ends. */
async function runNode(box: Box, folder: string): Promise<void> {
  const env = { NODE_V8_COVERAGE: folder };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  await using server = await startApiServer({ box });
  await server.prepareNamespace(NAMESPACE);
  await using driver = new ClusterDriver(box, server, NAMESPACE);
  const path = await programOf({ kind: "checkout", label: "nodelet" }, console.error);
  const kubelet = await askKubelet(box, "nodelet", path);
  const agent = await startClusterNode(box, server, kubelet, { cpuProfile: undefined, env });
  const seen = (key: string) => driver.sightings.all([key], TIMEOUT_MS, signal);
  await seen(`node-ready ${NODE}`);
  for (const [name, probes] of [
    ["first", false],
    ["second", true],
  ] as const) {
    driver.order({ kind: "create", pods: [clusterPod(name, { probes })] });
    await seen(`ready ${name}`);
    if (!probes) for (const argv of COMMANDS) await box.run([path, ...argv], { env });
    await sleep(TAIL_MS);
    driver.order({ kind: "delete", names: [name], graceSeconds: 1 });
    await seen(`gone ${name}`);
  }
  await sleep(TAIL_MS);
  await agent.stop();
}

/** Names of what the processes called of a program, in the program's order, so that a new record differs from the last in few lines. */
function calledOf(folder: string, program: string): readonly string[] {
  const path = join(DIST, `${program}.cjs`);
  const functions = listFunctions(path);
  const called = new Set<string>();
  for (const file of readdirSync(folder)) {
    const { result }: Coverage = JSON.parse(readFileSync(join(folder, file), "utf8"));
    for (const script of result.filter(({ url }) => url === pathToFileURL(path).href))
      for (const name of calledFunctions(script.functions, functions, PROGRAM_OFFSET))
        called.add(name);
  }
  const names = functions.map(({ name }) => name).filter((name) => called.has(name));
  console.log(`${program}: ${names.length} of ${functions.length} functions`);
  // Without a code cache the program is compiled without the function around it, and nothing is where it is looked for.
  if (names.length < LEAST) throw new Error(`the record of ${program} is not complete`);
  return names;
}

await using box = await startBox({ storeMib: STORE_MIB });
const folder = join(box.folder, "coverage");
mkdirSync(folder);
await runNode(box, folder);
const lines = PROGRAMS.flatMap((program) =>
  calledOf(folder, program).map((name) => `${program}\t${name}\n`),
);
writeFileSync(RECORD, lines.join(""));
