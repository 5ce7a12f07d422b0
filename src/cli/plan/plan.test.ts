import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { asSlices, EXAMPLE_FILES, exampleRows } from "../../../test/cgroups/example.ts";
import { captureIo } from "../../../test/support/capture-io.ts";
import { UsageError } from "../../kit/errors.ts";
import { runCommand } from "../cli.ts";
import type { NodePlan } from "./plan-node-pods.ts";
import { readNode } from "./read-node.ts";
import { readPodFile } from "./read-pods.ts";

async function nodelet(...argv: readonly string[]) {
  const { io, text } = captureIo();
  const code = await runCommand(argv, io, () => new AbortController().signal);
  return { code, ...text() };
}

const EXAMPLE = [
  ...["plan", "-f", EXAMPLE_FILES.pods],
  ...["--node", EXAMPLE_FILES.node, "--config", EXAMPLE_FILES.config],
];

async function planOf(...argv: readonly string[]): Promise<NodePlan> {
  const { code, out, err } = await nodelet(...EXAMPLE, "-o", "json", ...argv);
  assert.equal(code, 0, err);
  return JSON.parse(out) as NodePlan;
}

for (const version of [1, 2] as const) {
  for (const weights of ["linear", "quadratic"] as const) {
    for (const driver of ["cgroupfs", "systemd"] as const) {
      test(`nodelet plan: the worked example on v${version}, ${weights} weights, ${driver}`, async () => {
        const plan = await planOf(
          "--cgroup",
          `v${version}`,
          "--weights",
          weights,
          "--driver",
          driver,
        );
        const rows = exampleRows(weights);
        for (const row of rows) {
          const path = driver === "systemd" ? asSlices(row.path) : row.path;
          const group = plan.groups.find((one) => one.path === path);
          assert.ok(group, path);
          const shown = Object.fromEntries(group.values.map(({ file, shows }) => [file, shows]));
          const wanted = row[version];
          assert.deepEqual(
            Object.fromEntries(Object.keys(wanted).map((file) => [file, shown[file]])),
            wanted,
            path,
          );
        }
        assert.equal(plan.groups.length, rows.length);
        const scores = plan.groups.flatMap(({ container, oomScoreAdj }) =>
          container === undefined ? [] : [`${container} ${oomScoreAdj}`],
        );
        assert.deepEqual(scores.sort(), [
          "container 1000",
          "container1 875",
          "container2 875",
          "container3 -997",
        ]);
      });
    }
  }
}

test("nodelet plan shows the verdict of admission, and plans only admitted pods", async () => {
  const plan = await planOf("--", "--kube-reserved=cpu=1");
  assert.deepEqual(
    plan.pods.map(({ name, admitted, rule, reason }) => [name, admitted, rule, reason]),
    [
      ["g", true, undefined, undefined],
      ["b", false, "resources", "OutOfcpu"],
      ["be", true, undefined, undefined],
    ],
  );
  assert.match(plan.pods[1]?.message ?? "", /cpu, requested: 2000, used: 1000, capacity: 2000/);
  assert.ok(!plan.groups.some(({ path }) => path.includes("podb/") || path.endsWith("podb")));
});

test("nodelet plan shows a tree for people", async () => {
  const { out } = await nodelet(...EXAMPLE, "--cgroup", "v1");
  const part = out.slice(out.indexOf("    burstable"), out.indexOf("        container1"));
  assert.equal(
    part,
    `    burstable
      cpu.shares             2048
      cpu.cfs_period_us      100000  (not written)
      cpu.cfs_quota_us       -1  (not written)
      memory.limit_in_bytes  7516192768  (7 GiB)
      hugetlb.*              4611686018427387904  (no limit)
      podb  (pod default/b, Burstable)
        cpu.shares             2048
        cpu.cfs_period_us      100000
        cpu.cfs_quota_us       300000
        memory.limit_in_bytes  3221225472  (3 GiB)
        pids.max               max  (not written)
        hugetlb.*              0
`,
  );
  assert.match(out, /default\/be {2}BestEffort {2}admitted/);
});

test("nodelet plan refuses what it cannot read, with the place", async () => {
  const none = await nodelet("plan", "-f", "/no/such.yaml");
  assert.deepEqual([none.code, none.err], [3, none.err]);
  assert.match(none.err, /cannot read \/no\/such\.yaml/);
  const wrong = await nodelet("plan", "-f", EXAMPLE_FILES.node, "--config", EXAMPLE_FILES.config);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /node\.yaml: /);
});

test("readPodFile reads lists and documents, and reports all problems", () => {
  const text = `
apiVersion: v1
kind: PodList
items:
- metadata: {name: a}
  spec: {priorityClassName: system-node-critical, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, uid: given}
spec: {containers: [{name: c, image: i}]}
`;
  const [a, b] = readPodFile({ path: "x.yaml", text }, "node");
  assert.equal(a?.spec?.priority, 2_000_001_000);
  assert.equal(a?.metadata?.namespace, "default");
  assert.match(a?.metadata?.uid ?? "", /^[0-9a-f]{32}$/);
  assert.equal(b?.metadata?.uid, "given");
  const bad = text.replace("image: i}]", "image: i, resources: {limits: {cpu: -1}}}]");
  assert.throws(
    () => readPodFile({ path: "x.yaml", text: bad }, "node"),
    (thrown) => thrown instanceof UsageError && /^x\.yaml: .*cpu/.test(thrown.message),
  );
});

test("readNode reads the capacity of a Node and reports what is missing", () => {
  const { facts, labels } = readNode(
    JSON.stringify({
      kind: "Node",
      metadata: { name: "n", labels: { zone: "z" } },
      status: {
        capacity: { cpu: "3500m", memory: "1Gi", "hugepages-2Mi": "4Mi" },
        nodeInfo: { architecture: "amd64", swap: { capacity: 5 } },
      },
    }),
    "n.json",
  );
  assert.deepEqual(
    [facts.cpuCount, facts.memoryBytes, facts.swapBytes, facts.pidMax, labels["zone"]],
    [3.5, 2 ** 30, 5, 0, "z"],
  );
  assert.deepEqual(facts.hugepages, [
    { sizeBytes: 2 ** 21, pages: 2 },
    { sizeBytes: 2 ** 30, pages: 0 },
  ]);
  assert.throws(() => readNode("kind: Node", "n.yaml"), /n\.yaml: status\.capacity\.cpu/);
  assert.throws(() => readNode("kind: Pod", "n.yaml"), /is not a Node/);
});

const CLAIMING = JSON.stringify({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "train" },
  spec: {
    resourceClaims: [
      { name: "gpu", resourceClaimTemplateName: "one-gpu" },
      { name: "licence", resourceClaimName: "shared" },
    ],
    containers: [
      { name: "main", image: "i", resources: { claims: [{ name: "gpu", request: "big" }] } },
      { name: "side", image: "i", resources: { claims: [{ name: "gpu" }] } },
    ],
  },
});

test("nodelet plan names what the claims of a pod would need", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "nodelet-plan-")), "train.json");
  writeFileSync(path, CLAIMING);
  const { code, out } = await nodelet("plan", "-f", path, "--node", EXAMPLE_FILES.node);
  rmSync(dirname(path), { recursive: true });
  assert.equal(code, 0);
  const lines = out.split("\n");
  const at = lines.findIndex((line) => line.includes("default/train"));
  assert.deepEqual(lines.slice(at + 1, at + 3), [
    "    claim gpu: needs a claim made from ResourceClaimTemplate one-gpu; for main (big), side",
    "    claim licence: needs ResourceClaim shared; for no container",
  ]);
  assert.match(out, /Note: a pod with claims waits until each is allocated and reserved/);
});
