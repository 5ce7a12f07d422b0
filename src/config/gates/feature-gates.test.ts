import assert from "node:assert/strict";
import { test } from "node:test";
import { formatConfigProblem } from "../problem.ts";
import { LATEST_RELEASE, RELEASES } from "../release.ts";
import { FEATURE_GATES } from "./feature-gate-table.ts";
import { DEFAULT_GATES, type GateSettings, gatesInForce, resolveGates } from "./feature-gates.ts";
import { gateNeeds } from "./gate-needs.ts";
import { gatesOfRelease } from "./release-gates.ts";

const problemsOf = (settings: GateSettings) =>
  resolveGates(settings).problems.map(formatConfigProblem);

/** Name, stage, default and lock of gates whose state in 1.37 the documentation states. */
const KNOWN: readonly (readonly [string, string, boolean, boolean])[] = [
  ["QOSReserved", "alpha", false, false],
  ["MemoryQoS", "beta", true, false],
  ["EventedPLEG", "alpha", false, false],
  ["CRIListStreaming", "alpha", false, false],
  ["ContainerStopSignals", "alpha", false, false],
  ["PodsAPI", "beta", true, false],
  ["SELinuxMount", "GA", true, false],
  ["KubeletCrashLoopBackOffMax", "beta", true, false],
  ["KubeletEnsureSecretPulledImages", "beta", true, false],
  ["ReloadKubeletClientCAFile", "beta", true, false],
  ["PLEGOnDemandRelist", "GA", true, true],
  ["GracefulNodeShutdown", "beta", true, false],
  ["NodeDeclaredFeatures", "GA", true, true],
  ["RotateKubeletServerCertificate", "beta", true, false],
  ["NodeSwap", "GA", true, true],
  ["NodeLogQuery", "GA", true, true],
  ["CustomCPUCFSQuotaPeriod", "GA", true, false],
  ["ChangeContainerStatusOnKubeletRestart", "deprecated", false, false],
  ["GitRepoVolumeDriver", "deprecated", false, true],
];

test("the matrix holds the gates of 1.37", () => {
  const byName = new Map(FEATURE_GATES.map((gate) => [gate.name, gate]));
  assert.equal(byName.size, FEATURE_GATES.length, "a gate is listed twice");
  for (const [name, stage, fallback, locked] of KNOWN) {
    assert.deepEqual(byName.get(name), { name, stage, default: fallback, locked });
  }
  for (const release of RELEASES) {
    const names = new Set(gatesOfRelease(release).map(({ name }) => name));
    for (const [name, needs] of gateNeeds(release)) {
      for (const gate of [name, ...needs]) assert.ok(names.has(gate), `${release} ${gate}`);
    }
  }
});

test("alpha gates are off by default and never locked", () => {
  for (const gate of RELEASES.flatMap(gatesOfRelease)) {
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
    { ContainerRestartRule: true },
    [
      "featureGates[ContainerRestartRule]: unrecognized feature gate: ContainerRestartRule (did you mean ContainerRestartRules?)",
    ],
  ],
  [
    { memoryqos: true },
    ["featureGates[memoryqos]: unrecognized feature gate: memoryqos (did you mean MemoryQoS?)"],
  ],
  [
    { DynamicKubeletConfig: true },
    [
      "featureGates[DynamicKubeletConfig]: unrecognized feature gate: DynamicKubeletConfig (remove it: Kubernetes 1.37 has no such gate)",
    ],
  ],
  [
    { NodeSwap: false },
    [
      "featureGates[NodeSwap]: Invalid value: false: cannot set feature gate NodeSwap to false, feature is locked to true (remove it)",
    ],
  ],
  [{ NodeSwap: true }, []],
  [
    { SidecarContainers: true },
    [
      "featureGates[SidecarContainers]: unrecognized feature gate: SidecarContainers (remove it: since Kubernetes 1.37 its feature is always on; --compat=1.36 still takes it)",
    ],
  ],
  [
    { GangScheduling: false },
    [
      "featureGates[GangScheduling]: unrecognized feature gate: GangScheduling (remove it: since Kubernetes 1.37 there is no such feature; --compat=1.36 still takes it)",
    ],
  ],
  [
    { ConditionalAuthorization: true },
    [
      "featureGates[ConditionalAuthorization]: unrecognized feature gate: ConditionalAuthorization (remove it: Kubernetes 1.37 has no such gate)",
    ],
  ],
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
  [
    { PodLevelResources: false },
    [
      "InPlacePodLevelResourcesVerticalScaling",
      "PodLevelResourcesFixDefaulting",
      "PodLevelResourcesFixKubeletQOSClass",
    ].map(
      (gate) =>
        `featureGates[${gate}]: Forbidden: ${gate} is enabled, but depends on features that are disabled: [PodLevelResources] (enable PodLevelResources, or disable ${gate})`,
    ),
  ],
  [
    {
      PodLevelResources: false,
      InPlacePodLevelResourcesVerticalScaling: false,
      PodLevelResourcesFixDefaulting: false,
      PodLevelResourcesFixKubeletQOSClass: false,
    },
    [],
  ],
  [
    { ClusterTrustBundle: false },
    [
      "featureGates[ClusterTrustBundleProjection]: Forbidden: ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle] (enable ClusterTrustBundle, or disable ClusterTrustBundleProjection)",
    ],
  ],
  [{ ClusterTrustBundleProjection: true, ClusterTrustBundle: true }, []],
  [
    { ResourceHealthStatus: false },
    [
      "featureGates[ResourceHealthStatusMessage]: Forbidden: ResourceHealthStatusMessage is enabled, but depends on features that are disabled: [ResourceHealthStatus] (enable ResourceHealthStatus, or disable ResourceHealthStatusMessage)",
    ],
  ],
  [{ AllAlpha: true, GenericWorkload: true }, []],
  [{ AllAlpha: true, AllBeta: true }, []],
  [{ AllBeta: true }, []],
  [{ AllBeta: false }, []],
  [
    { __proto__: null, hasOwnProperty: true } as unknown as GateSettings,
    [
      "featureGates[hasOwnProperty]: unrecognized feature gate: hasOwnProperty (remove it: Kubernetes 1.37 has no such gate)",
    ],
  ],
];

test("resolveGates refuses what the kubelet refuses", () => {
  for (const [settings, problems] of WRONG) {
    assert.deepEqual(problemsOf(settings), problems, JSON.stringify(settings));
  }
});

test("AllAlpha and AllBeta move what is not set by name", () => {
  const { gates } = resolveGates({ AllAlpha: true, EventedPLEG: false });
  assert.equal(gates.isEnabled("CRIListStreaming"), true);
  assert.equal(gates.isEnabled("EventedPLEG"), false);
  assert.equal(gates.isEnabled("PodAndContainerStatsFromCRI"), false);
  const beta = resolveGates({ AllBeta: false, ContainerRestartRules: true }).gates;
  assert.equal(beta.isEnabled("KubeletCrashLoopBackOffMax"), false);
  assert.equal(beta.isEnabled("ContainerRestartRules"), true);
  assert.equal(beta.isEnabled("NodeSwap"), true);
});

test("a gate that changes nothing, is GA or deprecated gives a warning", () => {
  const warningsOf = (settings: GateSettings) => resolveGates(settings).warnings;
  assert.deepEqual(warningsOf({ EventedPLEG: true }), [
    "feature gate EventedPLEG has no effect in nodelet",
  ]);
  assert.deepEqual(warningsOf({ PodsAPI: true }), []);
  assert.deepEqual(warningsOf({ KubeletCrashLoopBackOffMax: true }), []);
  assert.deepEqual(warningsOf({ NodeSwap: true }), [
    "Setting GA feature gate NodeSwap=true. It will be removed in a future release.",
  ]);
  assert.deepEqual(warningsOf({ ChangeContainerStatusOnKubeletRestart: true }), [
    "Setting deprecated feature gate ChangeContainerStatusOnKubeletRestart=true. It will be removed in a future release.",
    "feature gate ChangeContainerStatusOnKubeletRestart has no effect in nodelet",
  ]);
});

test("asking for a gate that does not exist is a mistake of ours", () => {
  assert.throws(() => DEFAULT_GATES.isEnabled("NoSuchGate"), /unknown feature gate NoSuchGate/);
});

test("with compat 1.36 the gates are those of 1.36, and what came later is off", () => {
  const gates = gatesInForce({ compat: "1.36", featureGates: {} });
  const off = ["MemoryQoS", "PodsAPI", "SELinuxMount", "HugepageAwareEviction", "NativeHistograms"];
  for (const name of off) {
    assert.equal(gates.isEnabled(name), false, name);
    assert.equal(DEFAULT_GATES.isEnabled(name), true, name);
  }
  assert.equal(gates.isEnabled("SidecarContainers"), true);
  assert.throws(() => DEFAULT_GATES.isEnabled("SidecarContainers"), /unknown feature gate/);
  const named = gatesInForce({ compat: "1.36", featureGates: { PodsAPI: true } });
  assert.equal(named.isEnabled("PodsAPI"), true);
  assert.equal(
    gatesInForce({ compat: LATEST_RELEASE, featureGates: {} }).isEnabled("PodsAPI"),
    true,
  );
});

/** Settings that one of the two releases refuses. */
const BY_RELEASE: readonly (readonly [settings: GateSettings, in136: number, in137: number])[] = [
  [{}, 0, 0],
  [{ SidecarContainers: true }, 0, 1],
  [{ NodeDeclaredFeatures: true }, 0, 0],
  [
    {
      NodeDeclaredFeatures: false,
      ExtendWebSocketsToKubelet: false,
      InPlacePodLevelResourcesVerticalScaling: false,
      InPlacePodVerticalScalingInitContainers: false,
      RestartAllContainersOnContainerExits: false,
    },
    0,
    2,
  ],
  // GenericWorkload is beta in 1.37, so that AllAlpha no longer turns it on for what needs it.
  [{ AllAlpha: true }, 0, 4],
  ...[
    "DisableCPUQuotaWithExclusiveCPUs",
    "DRAExtendedResource",
    "DRAPrioritizedList",
    "HostnameOverride",
    "InPlacePodVerticalScalingInitContainers",
    "PLEGOnDemandRelist",
    "PodReadyToStartContainersCondition",
  ].map((name) => [{ [name]: false }, 0, 1] as const),
  [{ DRAResourceClaimDeviceStatus: false }, 2, 1],
  [{ PodLevelResources: false, InPlacePodLevelResourcesVerticalScaling: false }, 0, 2],
  [{ GangScheduling: true }, 1, 1],
  [{ GangScheduling: true, GenericWorkload: true }, 0, 1],
  [{ EventedPLEG: true, PLEGOnDemandRelist: false }, 0, 1],
];

test("what was locked, removed or made dependent in 1.37 is free with compat 1.36", () => {
  for (const [settings, in136, in137] of BY_RELEASE) {
    const counts = RELEASES.map((release) => resolveGates(settings, release).problems.length);
    assert.deepEqual(counts, [in136, in137], JSON.stringify(settings));
  }
});
