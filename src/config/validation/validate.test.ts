import assert from "node:assert/strict";
import { test } from "node:test";
import { isTree } from "../../kit/json.ts";
import { toKubeletConfig, withDefaults, withGateDefaults } from "../fields/defaults.ts";
import { decodeConfigText } from "../file/config-text.ts";
import { resolveGates } from "../gates/feature-gates.ts";
import { formatConfigProblem } from "../problem.ts";
import { validateConfig, validateOnHost } from "./validate.ts";
import { EVICTION, PLACES, RESOURCES, VALID } from "./validate-resources.vectors.ts";
import { CHOICES, DURATIONS, NUMBERS } from "./validate-values.vectors.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

function configOf(body: string) {
  const decoded = decodeConfigText({ path: "/c", text: `${HEAD}${body}\n` }, false);
  assert.deepEqual(decoded.problems, [], body);
  const settings = decoded.fields["featureGates"];
  const { gates, problems } = resolveGates(isTree(settings) ? (settings as never) : {});
  assert.deepEqual(problems, [], body);
  return { config: toKubeletConfig(withGateDefaults(withDefaults(decoded.fields), gates)), gates };
}

function problemsOf(body: string): readonly string[] {
  const { config, gates } = configOf(body);
  return validateConfig(config, gates).map(formatConfigProblem);
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

test("validateConfig returns all problems at once", () => {
  const body = "port: -1\nmaxPods: -1\nhairpinMode: x\nevictionHard: {x: y z}";
  assert.equal(problemsOf(body).length, 5);
});

test("validateOnHost knows the machine", () => {
  const reported = (body: string, host: { cgroupVersion: 1 | 2; swapBytes: number }) =>
    validateOnHost(configOf(body).config, host).map(formatConfigProblem);
  assert.deepEqual(reported("", { cgroupVersion: 2, swapBytes: 0 }), []);
  assert.deepEqual(reported("", { cgroupVersion: 1, swapBytes: 0 }), [
    "failCgroupV1: Forbidden: kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode (boot the machine with cgroup v2, or set failCgroupV1: false)",
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
