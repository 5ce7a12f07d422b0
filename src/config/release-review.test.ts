import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseFlags } from "./flags/flags.ts";
import { gatesOfRelease } from "./gates/release-gates.ts";
import { loadConfig } from "./load.ts";
import { releaseChanges } from "./release-review.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/** The changes for a file and flags, each as `setting: in 1.36 → in 1.37`. */
async function changesOf(body: string, ...argv: readonly string[]): Promise<readonly string[]> {
  const files = {
    readText: async () => `${HEAD}${body}\n`,
    list: async () => undefined,
  };
  const load = (compat: string) =>
    loadConfig(["--config=/c", ...argv, `--compat=${compat}`], files, { cwd: "/" });
  const [before, after] = [await load("1.36"), await load("1.37")];
  const { given } = parseFlags(argv);
  return releaseChanges({ before, after, flags: given }).map(
    ({ setting, in136, in137 }) => `${setting}: ${in136} → ${in137}`,
  );
}

const GATES = [
  "ClusterTrustBundle",
  "ClusterTrustBundleProjection",
  "HugepageAwareEviction",
  "KubeletInUserNamespace",
  "MemoryQoS",
  "NativeHistograms",
  "PodCertificateRequest",
  "PodLevelResourcesFixDefaulting",
  "PodLevelResourcesFixKubeletQOSClass",
  "PodsAPI",
  "SELinuxMount",
];
const ON = GATES.map((gate) => `featureGates.${gate}: off → on`);
const FACTOR = "memoryThrottlingFactor: 0.9 → unset";

test("releaseChanges: of an empty file the defaults alone change", async () => {
  assert.deepEqual(await changesOf(""), [...ON, FACTOR]);
});

test("releaseChanges: what is set changes nothing, what is refused or reads otherwise is named", async () => {
  const set = `featureGates: {PodsAPI: true, MemoryQoS: false}\nmemoryThrottlingFactor: 0.9`;
  assert.deepEqual(
    await changesOf(set),
    ON.filter((line) => !/PodsAPI|MemoryQoS/.test(line)),
  );
  const refused = "featureGates: {SidecarContainers: true, PLEGOnDemandRelist: false}";
  assert.deepEqual(await changesOf(refused), [
    "featureGates[SidecarContainers]: accepted → refused",
    "featureGates[PLEGOnDemandRelist]: accepted → refused",
    ...ON,
    FACTOR,
  ]);
  const read = 'eventRecordQPS: 0\nkubeReserved: {cpu: 100.5m}\nsystemReserved: {cpu: "1"}';
  assert.deepEqual(await changesOf(read), [
    ...ON,
    FACTOR,
    "eventRecordQPS: 5 a second → no limit",
    "kubeReserved.cpu: 100.5m → 101m",
  ]);
});

test("releaseChanges: flags that 1.37 removed are named", async () => {
  const flags = ["--containerd=/x", "--docker=/y", "--v=2", "--log-cadvisor-usage"];
  assert.deepEqual((await changesOf("", ...flags)).slice(0, 2), [
    "--containerd: deprecated → ignored",
    "--log-cadvisor-usage: deprecated → ignored",
  ]);
  assert.equal((await changesOf("", ...flags)).length, 2 + ON.length + 1);
});

test("releaseChanges: every gate of a kubelet with another default is among them", () => {
  const table = readFileSync(join(import.meta.dirname, "testdata/gates-1.37.tsv"), "utf8");
  const ofKubelet = table.split("\n").filter((line) => line.split("\t")[5] === "kubelet");
  const before = new Map(gatesOfRelease("1.36").map((gate) => [gate.name, gate.default]));
  const changed = ofKubelet
    .map((line) => line.split("\t"))
    .filter(([name = "", , isOn = ""]) => before.get(name) !== (isOn === "true"))
    .map(([name = ""]) => name);
  assert.ok(changed.length >= 9, changed.join());
  for (const name of changed) assert.ok(GATES.includes(name), name);
});
