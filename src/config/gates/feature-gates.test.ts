import assert from "node:assert/strict";
import { test } from "node:test";
import { formatConfigProblem } from "../problem.ts";
import { FEATURE_GATES, GATE_NEEDS } from "./feature-gate-table.ts";
import { DEFAULT_GATES, type GateSettings, resolveGates } from "./feature-gates.ts";

const problemsOf = (settings: GateSettings) =>
  resolveGates(settings).problems.map(formatConfigProblem);

/** Name, stage, default and lock of gates whose state in 1.36 the documentation states. */
const KNOWN: readonly (readonly [string, string, boolean, boolean])[] = [
  ["QOSReserved", "alpha", false, false],
  ["MemoryQoS", "alpha", false, false],
  ["EventedPLEG", "alpha", false, false],
  ["CRIListStreaming", "alpha", false, false],
  ["ContainerStopSignals", "alpha", false, false],
  ["PodsAPI", "alpha", false, false],
  ["SELinuxMount", "beta", false, false],
  ["KubeletCrashLoopBackOffMax", "beta", true, false],
  ["KubeletEnsureSecretPulledImages", "beta", true, false],
  ["ReloadKubeletClientCAFile", "beta", true, false],
  ["PLEGOnDemandRelist", "beta", true, false],
  ["GracefulNodeShutdown", "beta", true, false],
  ["NodeDeclaredFeatures", "beta", true, false],
  ["RotateKubeletServerCertificate", "beta", true, false],
  ["SidecarContainers", "GA", true, true],
  ["NodeSwap", "GA", true, true],
  ["NodeLogQuery", "GA", true, true],
  ["CustomCPUCFSQuotaPeriod", "GA", true, false],
  ["ChangeContainerStatusOnKubeletRestart", "deprecated", false, false],
  ["GitRepoVolumeDriver", "deprecated", false, true],
];

test("the matrix holds the gates of 1.36", () => {
  const byName = new Map(FEATURE_GATES.map((gate) => [gate.name, gate]));
  assert.equal(byName.size, FEATURE_GATES.length, "a gate is listed twice");
  for (const [name, stage, fallback, locked] of KNOWN) {
    assert.deepEqual(byName.get(name), { name, stage, default: fallback, locked });
  }
  for (const [name, needs] of GATE_NEEDS) {
    for (const gate of [name, ...needs]) assert.ok(byName.has(gate), gate);
  }
});

test("alpha gates are off by default and never locked", () => {
  for (const gate of FEATURE_GATES) {
    if (gate.stage === "alpha") assert.ok(!gate.default && !gate.locked, gate.name);
    if (gate.stage === "beta") assert.ok(!gate.locked, gate.name);
  }
});

test("without settings every gate has its default and nothing is wrong", () => {
  assert.deepEqual(resolveGates({}).problems, []);
  assert.deepEqual(resolveGates({}).warnings, []);
  for (const { gate, enabled } of DEFAULT_GATES.all) assert.equal(enabled, gate.default);
});

const WRONG: readonly (readonly [settings: GateSettings, problems: readonly string[]])[] = [
  [
    { SidecarContainer: true },
    [
      "featureGates[SidecarContainer]: unrecognized feature gate: SidecarContainer (did you mean SidecarContainers?)",
    ],
  ],
  [
    { memoryqos: true },
    ["featureGates[memoryqos]: unrecognized feature gate: memoryqos (did you mean MemoryQoS?)"],
  ],
  [
    { DynamicKubeletConfig: true },
    [
      "featureGates[DynamicKubeletConfig]: unrecognized feature gate: DynamicKubeletConfig (remove it: Kubernetes 1.36 has no such gate)",
    ],
  ],
  [
    { SidecarContainers: false },
    [
      "featureGates[SidecarContainers]: Invalid value: false: cannot set feature gate SidecarContainers to false, feature is locked to true (remove it)",
    ],
  ],
  [{ SidecarContainers: true }, []],
  [
    { AllowOverwriteTerminationGracePeriodSeconds: true },
    [
      "featureGates[AllowOverwriteTerminationGracePeriodSeconds]: Invalid value: true: cannot set feature gate AllowOverwriteTerminationGracePeriodSeconds to true, feature is locked to false (remove it)",
    ],
  ],
  [
    { GracefulNodeShutdown: false },
    [
      "featureGates[GracefulNodeShutdownBasedOnPodPriority]: Forbidden: GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: [GracefulNodeShutdown] (enable GracefulNodeShutdown, or disable GracefulNodeShutdownBasedOnPodPriority)",
      "featureGates[WindowsGracefulNodeShutdown]: Forbidden: WindowsGracefulNodeShutdown is enabled, but depends on features that are disabled: [GracefulNodeShutdown] (enable GracefulNodeShutdown, or disable WindowsGracefulNodeShutdown)",
    ],
  ],
  [
    {
      GracefulNodeShutdown: false,
      GracefulNodeShutdownBasedOnPodPriority: false,
      WindowsGracefulNodeShutdown: false,
    },
    [],
  ],
  [{ ClusterTrustBundleProjection: true, ClusterTrustBundle: true }, []],
  [{ AllAlpha: true }, []],
  [{ AllBeta: true }, []],
  [{ AllBeta: false }, []],
  [{ AllAlpha: true, AllBeta: false }, []],
  [
    { __proto__: null, hasOwnProperty: true } as unknown as GateSettings,
    [
      "featureGates[hasOwnProperty]: unrecognized feature gate: hasOwnProperty (remove it: Kubernetes 1.36 has no such gate)",
    ],
  ],
];

test("resolveGates refuses what the kubelet refuses", () => {
  for (const [settings, problems] of WRONG) {
    assert.deepEqual(problemsOf(settings), problems, JSON.stringify(settings));
  }
});

test("AllAlpha and AllBeta move what is not set by name", () => {
  const { gates } = resolveGates({ AllAlpha: true, PodsAPI: false });
  assert.equal(gates.isEnabled("MemoryQoS"), true);
  assert.equal(gates.isEnabled("PodsAPI"), false);
  assert.equal(gates.isEnabled("SELinuxMount"), false);
  const beta = resolveGates({ AllBeta: false, ContainerRestartRules: true }).gates;
  assert.equal(beta.isEnabled("KubeletCrashLoopBackOffMax"), false);
  assert.equal(beta.isEnabled("ContainerRestartRules"), true);
  assert.equal(beta.isEnabled("SidecarContainers"), true);
});

test("a gate that changes nothing, is GA or deprecated gives a warning", () => {
  const warningsOf = (settings: GateSettings) => resolveGates(settings).warnings;
  assert.deepEqual(warningsOf({ PodsAPI: true }), [
    "feature gate PodsAPI has no effect in nodelet",
  ]);
  assert.deepEqual(warningsOf({ KubeletCrashLoopBackOffMax: true }), []);
  assert.deepEqual(warningsOf({ SidecarContainers: true }), [
    "Setting GA feature gate SidecarContainers=true. It will be removed in a future release.",
  ]);
  assert.deepEqual(warningsOf({ ChangeContainerStatusOnKubeletRestart: true }), [
    "Setting deprecated feature gate ChangeContainerStatusOnKubeletRestart=true. It will be removed in a future release.",
    "feature gate ChangeContainerStatusOnKubeletRestart has no effect in nodelet",
  ]);
});

test("asking for a gate that does not exist is a mistake of ours", () => {
  assert.throws(() => DEFAULT_GATES.isEnabled("NoSuchGate"), /unknown feature gate NoSuchGate/);
});
