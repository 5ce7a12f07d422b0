import assert from "node:assert/strict";
import { test } from "node:test";
import { type RuntimeFacts, runtimeObstacle, runtimeSettings } from "./runtime-facts.ts";

/** As containerd 1.6 describes itself, shortened. */
function description(options: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const runc = { runtimeType: "io.containerd.runc.v2", options };
  return {
    golang: '"go1.19.8"',
    config: JSON.stringify({ containerd: { runtimes: { runc } }, ...more }),
  };
}

function facts(changes: Partial<RuntimeFacts> = {}): RuntimeFacts {
  return {
    version: "containerd 1.6.20",
    api: "v1",
    notReady: [],
    deprecations: [],
    description: description({ SystemdCgroup: false }, { restrictOOMScoreAdj: true }),
    pods: 0,
    ...changes,
  };
}

test("`runtimeSettings` reads what containerd reports, and assumes nothing else", () => {
  const reported = description(
    { SystemdCgroup: true },
    { sandboxImage: "registry.k8s.io/pause:3.6", restrictOOMScoreAdj: false },
  );
  assert.deepEqual(runtimeSettings(reported), {
    systemdCgroups: true,
    sandboxImage: "registry.k8s.io/pause:3.6",
    restrictsOomScore: false,
  });
  const nothing = {
    systemdCgroups: undefined,
    sandboxImage: undefined,
    restrictsOomScore: undefined,
  };
  for (const config of ["", "no json", "null", "[]", '{"containerd":{"runtimes":null}}'])
    assert.deepEqual(runtimeSettings({ config }), nothing, config);
  assert.deepEqual(runtimeSettings({}), nothing);
});

const OURS = { known: true, mayLowerOomScore: true };
const NEW = { known: false, mayLowerOomScore: true };
const WEAK = { known: false, mayLowerOomScore: false };

const VECTORS: readonly (readonly [
  string,
  Partial<RuntimeFacts>,
  typeof OURS,
  RegExp | undefined,
])[] = [
  ["all is well", {}, NEW, undefined],
  ["it speaks an old CRI", { api: "v1alpha2" }, NEW, /CRI v1alpha2/],
  ["it has no network", { notReady: ["NetworkReady is false: no cni"] }, NEW, /no cni/],
  [
    "systemd makes its groups",
    { description: description({ SystemdCgroup: true }) },
    NEW,
    /systemd/,
  ],
  [
    "oom scores cannot be set",
    { description: description({}, { restrictOOMScoreAdj: false }) },
    WEAK,
    /restrict_oom_score_adj/,
  ],
  [
    "oom scores can be set",
    { description: description({}, { restrictOOMScoreAdj: false }) },
    NEW,
    undefined,
  ],
  ["it does not say", { description: {} }, WEAK, undefined],
  ["it runs other pods", { pods: 2 }, NEW, /2 pods of another agent/],
  ["it runs our pods", { pods: 2 }, OURS, undefined],
];

for (const [name, changes, use, expected] of VECTORS)
  test(`\`runtimeObstacle\` when ${name}`, () => {
    const obstacle = runtimeObstacle(facts(changes), use);
    if (expected === undefined) assert.equal(obstacle, undefined);
    else assert.match(obstacle ?? "", expected);
  });
