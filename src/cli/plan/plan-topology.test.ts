// `nodelet plan --topology` on seven machines, through the command line; the output for people is kept in golden files.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { assertGolden } from "../../../test/cli/golden.ts";
import { captureIo } from "../../../test/support/capture-io.ts";
import { parseYamlDocument } from "../../api/text/yaml.ts";
import { runCommand } from "../cli.ts";
import type { TopologyPlan } from "./plan-topology.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-topology-"));
after(() => rmSync(folder, { recursive: true }));

const MACHINES = [
  "arm",
  "asymmetric",
  "eight-nodes",
  "laptop",
  "several-l3",
  "two-sockets",
  "virtual",
] as const;
const treeOf = (name: string) =>
  join(import.meta.dirname, `../../config/machine/testdata/${name}.tree`);

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const container = (name: string, amounts: Readonly<Record<string, string>>) => ({
  name,
  image: "i:1",
  resources: { requests: amounts, limits: amounts },
});
const pod = (
  name: string,
  containers: readonly object[],
  initContainers: readonly object[] = [],
) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers, initContainers },
});
const GPU = "vendor.example/gpu";
const ITEMS = [
  pod(
    "db",
    [
      container("db", { cpu: "2", memory: "1Gi" }),
      container("logs", { cpu: "500m", memory: "64Mi" }),
    ],
    [container("restore", { cpu: "4", memory: "512Mi" })],
  ),
  pod("train", [container("main", { cpu: "2", memory: "1Gi", [GPU]: "1" })]),
  pod("large", [container("main", { cpu: "12", memory: "6Gi" })]),
  pod("odd", [container("main", { cpu: "1", memory: "64Mi" })]),
  pod("web", [{ name: "web", image: "i:1" }]),
];
const PODS = file("pods.json", { apiVersion: "v1", kind: "PodList", items: ITEMS });
const DEVICES = file("devices.json", {
  resources: [
    {
      resource: GPU,
      devices: [
        { id: "gpu-0", health: "unhealthy", numaNodes: [0] },
        { id: "gpu-1", health: "healthy", numaNodes: [0] },
      ],
    },
  ],
  notes: [],
});
const config = (more: string) => `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
kubeReserved: {cpu: "1", memory: 412Mi}
evictionHard: {memory.available: 100Mi}
${more}
`;
const CONFIG = file(
  "config.yaml",
  config(`cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}]
topologyManagerPolicy: restricted`),
);

async function plan(...argv: readonly string[]) {
  const { io, text } = captureIo();
  const code = await runCommand(["plan", ...argv], io, () => new AbortController().signal);
  return { code, ...text() };
}

async function planOf(machine: string, ...argv: readonly string[]): Promise<TopologyPlan> {
  const { code, out, err } = await plan("--topology", treeOf(machine), "-o", "json", ...argv);
  assert.equal(code, 0, err);
  return JSON.parse(out) as TopologyPlan;
}

for (const machine of MACHINES)
  test(`nodelet plan --topology of the machine "${machine}"`, async () => {
    const argv = ["-f", PODS, "--config", CONFIG, "--devices", DEVICES];
    const { code, out, err } = await plan("--topology", treeOf(machine), ...argv);
    assert.equal(code, 0, err);
    assertGolden(`plan/${machine}.txt`, out);
  });

test("nodelet plan --topology: JSON and YAML hold the same plan; who is refused leaves nothing behind", async () => {
  const argv = ["-f", PODS, "--config", CONFIG, "--devices", DEVICES];
  const json = await planOf("two-sockets", ...argv);
  const { out } = await plan("--topology", treeOf("two-sockets"), ...argv, "-o", "yaml");
  assert.deepEqual(parseYamlDocument(out).value, json);
  const odd = json.pods.find(({ name }) => name === "odd");
  assert.deepEqual([odd?.admitted, odd?.reason], [false, "SMTAlignmentError"]);
  const others = file("others.json", {
    apiVersion: "v1",
    kind: "PodList",
    items: ITEMS.filter(({ metadata }) => metadata.name !== "odd"),
  });
  const without = await planOf(
    "two-sockets",
    ...["-f", others, "--config", CONFIG, "--devices", DEVICES],
  );
  assert.deepEqual(without.left, json.left);
});

test("nodelet plan --topology follows policy, scope and options of the configuration", async () => {
  const twice = ["db", "cache"].map((name) => container(name, { cpu: "8", memory: "1Gi" }));
  const pods = file("pair.json", pod("pair", twice));
  const nodesWith = async (more: string) => {
    const path = file("other.yaml", config(`cpuManagerPolicy: static\n${more}`));
    const { pods: placed } = await planOf("two-sockets", "-f", pods, "--config", path);
    return placed[0]?.containers.map(({ nodes }) => nodes?.join());
  };
  assert.deepEqual(await nodesWith(""), [undefined, undefined]);
  assert.deepEqual(await nodesWith("topologyManagerPolicy: best-effort"), ["0", "0"]);
  const scope = "topologyManagerPolicy: restricted\ntopologyManagerScope: pod";
  assert.deepEqual(await nodesWith(scope), ["0", "0"]);
  const flags = ["--", "--cpu-manager-policy=static", "--topology-manager-policy=best-effort"];
  const path = file("plain.yaml", config(""));
  const { policies } = await planOf("laptop", "-f", pods, "--config", path, ...flags);
  assert.deepEqual([policies.cpus, policies.topology], ["static", "best-effort"]);
});

test("nodelet plan --machine this shows the machine it runs on", async () => {
  const pods = file("one.json", pod("web", [{ name: "web", image: "i:1" }]));
  const { code, out, err } = await plan(
    "--machine",
    "this",
    "-f",
    pods,
    "--config",
    file("c.yaml", config("")),
  );
  assert.equal(code, 0, err);
  assert.match(out, /^ {2}default\/web {2}BestEffort {2}admitted$/m);
  assert.match(out, /with cpuManagerPolicy: none all containers share all CPUs/);
});

const TREE = treeOf("laptop");
for (const [argv, code, reported] of [
  [["--topology", TREE], 2, /require -f, a file with pods\n {2}nodelet plan --machine this/],
  [["--topology", join(folder, "none"), "-f", PODS], 3, /cannot read .*none/],
  [["--topology", PODS, "-f", PODS], 2, /pods\.json: holds no CPUs .*write it with grep -r/],
  [["--topology", TREE, "--machine", "this", "-f", PODS], 2, /cannot be used with/],
  [["--machine", "that", "-f", PODS], 2, /Allowed choices are this/],
  [["--topology", TREE, "--evict", "-f", PODS], 2, /cannot be used with/],
  [["--devices", DEVICES, "-f", PODS], 2, /--devices requires --topology or --machine/],
  [
    ["--topology", TREE, "--devices", PODS, "-f", PODS],
    2,
    /resources: is no list of devices; write it with nodelet devices -o json/,
  ],
  [
    ["--topology", TREE, "-f", PODS, "--", "--cpu-manager-policy=static", "--reserved-cpus=99"],
    2,
    /reserved-cpus: 99 is not a subset of online-cpus: 0-15/,
  ],
] as const)
  test(`nodelet plan refuses ${argv
    .join(" ")
    .replaceAll(folder, "")
    .replaceAll(import.meta.dirname, "")}`, async () => {
    const { code: ended, err } = await plan(
      ...argv,
      ...(argv.includes("--" as never) ? [] : ["--config", CONFIG]),
    );
    assert.equal(ended, code, err);
    assert.match(err, reported);
  });
