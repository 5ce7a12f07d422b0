import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isTree } from "../../kit/json.ts";
import { toKubeletConfig, withDefaults, withGateDefaults } from "../fields/defaults.ts";
import { FIELDS } from "../fields/fields.ts";
import { decodeConfigText } from "../file/config-text.ts";
import { DEFAULT_FLAGS } from "../flags/kubelet-flags.ts";
import { validateFlags } from "../flags/validate-flags.ts";
import { resolveGates } from "../gates/feature-gates.ts";
import { formatConfigProblem } from "../problem.ts";
import { releaseOf } from "../release.ts";
import { REFUSED, REFUSED_HERE } from "./refused.vectors.ts";
import { STARTS } from "./starts.vectors.ts";
import { validateConfig, validateOnHost } from "./validate.ts";
import { EVICTION, PLACES, RESOURCES, VALID } from "./validate-resources.vectors.ts";
import { CHOICES, DURATIONS, NUMBERS } from "./validate-values.vectors.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

function configOf(body: string) {
  const decoded = decodeConfigText({ path: "/c", text: `${HEAD}${body}\n` }, false);
  assert.deepEqual(decoded.problems, [], body);
  const settings = decoded.fields["featureGates"];
  const release = releaseOf(decoded.fields["compat"]);
  const { gates, problems } = resolveGates(isTree(settings) ? (settings as never) : {}, release);
  assert.deepEqual(problems, [], body);
  const fields = withGateDefaults(withDefaults(decoded.fields), gates, release);
  return { config: toKubeletConfig(fields), gates };
}

function problemsOf(body: string): readonly string[] {
  const { config, gates } = configOf(body);
  return validateConfig(config, gates).map(formatConfigProblem);
}

function pathsOf(body: string): readonly string[] {
  const { config, gates } = configOf(body);
  return [...new Set(validateConfig(config, gates).map(({ path }) => path))];
}

test("validateConfig: every rule names the field, the value, the rule and the fix", () => {
  const rows = [...NUMBERS, ...DURATIONS, ...CHOICES, ...PLACES, ...RESOURCES, ...EVICTION];
  let checked = 0;
  for (const [body, problem] of rows) {
    assert.deepEqual(problemsOf(body), [problem], body);
    checked += 1;
  }
  assert.ok(checked >= 120, `${checked} rows`);
});

test("validateConfig lets good configurations pass", () => {
  for (const body of VALID) assert.deepEqual(problemsOf(body), [], body);
});

test("validateConfig takes what the Go kubelet starts with", () => {
  for (const body of STARTS) assert.deepEqual(problemsOf(body), [], body);
  assert.ok(STARTS.length > 150, `${STARTS.length} bodies`);
});

test("validateConfig refuses what the Go kubelet refuses, and names the field", () => {
  for (const [body, path] of REFUSED) assert.deepEqual(pathsOf(body), [path], body);
  assert.ok(REFUSED.length > 150, `${REFUSED.length} bodies`);
});

test("every field with a rule is refused and taken in a vector", () => {
  const refused = [...REFUSED, ...REFUSED_HERE].map(([body]) => body);
  const taken = [...STARTS, ...VALID];
  for (const { path, rule } of FIELDS) {
    if (rule === "") continue;
    const name = new RegExp(`\\b${path.split(".").at(-1)}:`);
    assert.ok(
      refused.some((body) => name.test(body)),
      `${path}: never refused`,
    );
    assert.ok(
      taken.some((body) => name.test(body)),
      `${path}: never taken`,
    );
  }
});

test("what only nodelet refuses is documented", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/configuration.md"), "utf8");
  const [, section = ""] = page.split("### Refused here\n");
  const rows = (section.split("\n#", 1)[0] ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| "));
  for (const [body, path, words] of REFUSED_HERE) {
    assert.deepEqual(pathsOf(body), [path], body);
    assert.ok(
      rows.some((row) => row.includes(words)),
      `${body}: no row about ${words}`,
    );
  }
  for (const [flags, path] of [
    [{ nodeIP: "nowhere" }, "--node-ip"],
    [{ bootstrapKubeconfig: "/b" }, "--kubeconfig"],
  ] as const) {
    const found = validateFlags({ ...DEFAULT_FLAGS, ...flags }).map((problem) => problem.path);
    assert.deepEqual(found, [path]);
    assert.ok(
      rows.some((row) => row.includes(path)),
      `no row about ${path}`,
    );
  }
});

test("validateConfig returns all problems at once", () => {
  const body = "port: -1\nmaxPods: -1\nhairpinMode: x\nevictionHard: {x: y z}";
  assert.equal(problemsOf(body).length, 5);
});

test("validateOnHost knows the machine", () => {
  const reported = (body: string, host: { cgroupVersion: 1 | 2; swapBytes: number }) =>
    validateOnHost(configOf(body).config, host).map(formatConfigProblem);
  assert.deepEqual(reported("", { cgroupVersion: 2, swapBytes: 0 }), []);
  assert.deepEqual(reported("", { cgroupVersion: 1, swapBytes: 0 }), [
    "failCgroupV1: Forbidden: kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release (boot the machine with cgroup v2, or set failCgroupV1: false)",
  ]);
  assert.deepEqual(reported("failCgroupV1: false", { cgroupVersion: 1, swapBytes: 0 }), []);
  assert.deepEqual(
    reported("failCgroupV1: false\nsingleProcessOOMKill: false", {
      cgroupVersion: 1,
      swapBytes: 0,
    }),
    [
      "singleProcessOOMKill: Forbidden: must not be explicitly set to false when using cgroup v1 (remove it)",
    ],
  );
  assert.deepEqual(reported("", { cgroupVersion: 2, swapBytes: 1 }), [
    "failSwapOn: Forbidden: running with swap on is not supported, please disable swap or set --fail-swap-on flag to false (run swapoff -a, or set failSwapOn: false)",
  ]);
  assert.deepEqual(reported("failSwapOn: false", { cgroupVersion: 2, swapBytes: 1 }), []);
});
