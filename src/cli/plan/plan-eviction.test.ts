// `nodelet plan --evict` on a node that files describe, through the command line.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { captureIo } from "../../../test/support/capture-io.ts";
import { parseYamlDocument } from "../../api/text/yaml.ts";
import type { EvictionReport } from "../../subsystems/eviction/eviction.ts";
import { runCommand } from "../cli.ts";

const MI = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), "nodelet-plan-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const used = (name: string, mi: number) => ({
  podRef: { name, namespace: "default", uid: name },
  memory: { workingSetBytes: mi * MI },
  containers: [{ name: "main", memory: { workingSetBytes: mi * MI } }],
});
const aPod = (name: string, memory: string) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: default}
spec:
  nodeName: n1
  containers:
  - {name: main, image: "i:1", resources: {requests: {memory: ${memory}}}}
`;

const SUMMARY = file("summary.json", {
  node: { nodeName: "n1", memory: { availableBytes: 500 * MI, workingSetBytes: 500 * MI } },
  pods: [used("web", 60), used("hog", 400)],
});
const PODS = file("pods.yaml", [aPod("web", "64Mi"), aPod("hog", "64Mi")].join("---"));
const CONFIG = file(
  "config.yaml",
  "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 600Mi}\n",
);

async function plan(...argv: readonly string[]) {
  const { io, text } = captureIo();
  const code = await runCommand(["plan", ...argv], io, () => new AbortController().signal);
  return { code, ...text() };
}

const recorded = ["--summary", SUMMARY, "-f", PODS, "--config", CONFIG];

test("nodelet plan --evict of files: who goes by the configuration's thresholds", async () => {
  const { code, out, err } = await plan("--evict", ...recorded);
  assert.equal(code, 0, err);
  assert.match(out, /^memory\.available +500Mi +1000Mi +600Mi +hard +met$/m);
  assert.match(out, /^default\/hog +400Mi +64Mi +0 +goes +beyond its request$/m);
  assert.match(out, /^default\/web +60Mi +64Mi +0 +- +within its request$/m);
});

test("nodelet plan --evict of files: a named threshold takes the place of the configuration's", async () => {
  const { out } = await plan("--evict", "memory.available=50%", ...recorded);
  assert.match(out, /^memory\.available +500Mi +1000Mi +500Mi +hard +not met$/m);
  assert.match(out, /^No pod would be evicted\.$/m);
});

test("nodelet plan --evict of files: JSON and YAML hold the same report", async () => {
  const json = JSON.parse((await plan("--evict", ...recorded, "-o", "json")).out) as EvictionReport;
  const yaml = parseYamlDocument((await plan("--evict", ...recorded, "-o", "yaml")).out).value;
  assert.deepEqual(yaml, json);
  assert.deepEqual(
    json.pressure?.pods.map(({ name, fate }) => [name, fate]),
    [
      ["default/hog", "goes"],
      ["default/web", "next"],
    ],
  );
});

for (const [argv, code, reported] of [
  [
    ["--evict", "-f", PODS],
    2,
    /--evict with -f requires --summary, a file with the usage of these pods\n {2}kubectl get --raw/,
  ],
  [
    ["--evict", "--summary", SUMMARY],
    2,
    /--summary requires -f, a file with the pods of the node\n {2}kubectl get pods/,
  ],
  [["-f", PODS, "--summary", SUMMARY], 2, /plan: --summary requires --evict/],
  [["--evict", "--socket", "/s", ...recorded], 2, /--socket <path>' cannot be used with/],
  [["--evict", "memory.free=1", ...recorded], 2, /unknown eviction signal/],
  [["--evict", "memory.available=x", ...recorded], 2, /--evict memory\.available=x: /],
  [["--evict", "--summary", PODS, "-f", PODS], 2, /pods\.yaml: /],
  [["--evict", "--summary", join(folder, "none"), "-f", PODS], 3, /cannot read .*none/],
] as const)
  test(`nodelet plan refuses ${argv.join(" ").replaceAll(folder, "")}`, async () => {
    const { code: ended, err } = await plan(...argv);
    assert.equal(ended, code, err);
    assert.match(err, reported);
  });
