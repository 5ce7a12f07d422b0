import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { withGeneratedSections } from "../config-docs.ts";
import { decodeConfig } from "../file/decode-config.ts";
import { encodeConfig } from "../file/encode-config.ts";
import { DEFAULT_GATES, resolveGates } from "../gates/feature-gates.ts";
import { getAt, type JsonObject, setAt } from "../tree.ts";
import { validateConfig } from "../validation/validate.ts";
import { DEFAULT_CONFIG, toKubeletConfig, withDefaults, withGateDefaults } from "./defaults.ts";
import type { FieldType } from "./field-types.ts";
import { FIELDS, fieldAt, GROUP_PATHS } from "./fields.ts";

const IDENTITY = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };

/** Fields that mean something by being absent. */
const OPTIONAL = [
  "compat",
  "crashLoopBackOff.maxContainerRestartPeriod",
  "imagePullCredentialsVerificationPolicy",
  "maxParallelImagePulls",
  "memoryThrottlingFactor",
  "singleProcessOOMKill",
  "tracing.endpoint",
  "tracing.samplingRatePerMillion",
];

/** A value of the type that is not its zero value. */
function sample(type: FieldType): unknown {
  switch (type.kind) {
    case "boolean":
      return true;
    case "integer":
      return 7;
    case "number":
      return 0.5;
    case "string":
      return "x";
    case "quantity":
      return "10Mi";
    case "duration":
      return "1m30s";
    case "list":
      return [sample(type.of)];
    case "map":
      return { name: sample(type.of) };
    case "object":
      return Object.fromEntries(
        Object.entries(type.members).map(([name, member]) => [name, sample(member.type)]),
      );
    default:
      return type satisfies never;
  }
}

test("every field has a default or is optional on purpose", () => {
  const without = FIELDS.filter((field) => field.default === undefined).map(({ path }) => path);
  assert.deepEqual(without.toSorted(), OPTIONAL);
});

test("every field can be decoded, and says what it does", () => {
  for (const { path, type, about } of FIELDS) {
    const document = setAt(IDENTITY, path, sample(type) as string);
    const { fields, problems } = decodeConfig(document, { source: "/c", keepNull: false });
    assert.deepEqual(problems, [], path);
    assert.deepEqual(getAt(fields, path), sample(type), path);
    assert.match(about, /^[A-Z0-9].*\.$/, path);
  }
});

test("paths are unique and no field is also a group", () => {
  assert.equal(new Set(FIELDS.map(({ path }) => path)).size, FIELDS.length);
  for (const { path } of FIELDS) assert.ok(!GROUP_PATHS.has(path), path);
  assert.equal(fieldAt("authentication"), undefined);
  assert.equal(fieldAt("__proto__"), undefined);
});

test("every default has the type of its field", () => {
  for (const { path, type, default: fallback } of FIELDS) {
    if (fallback === undefined) continue;
    const document = setAt(IDENTITY, path, fallback);
    const { fields, problems } = decodeConfig(document, { source: "/c", keepNull: false });
    assert.deepEqual(problems, [], path);
    assert.deepEqual(getAt(fields, path), fallback, `${path} ${type.kind}`);
  }
});

test("the defaults are valid", () => {
  assert.deepEqual(validateConfig(DEFAULT_CONFIG, DEFAULT_GATES), []);
});

/** Defaults of Kubernetes 1.37, from its documentation and `SetDefaults_KubeletConfiguration`. */
const DEFAULTS: readonly (readonly [path: string, value: unknown])[] = [
  ["enableServer", true],
  ["syncFrequency", 60_000],
  ["fileCheckFrequency", 20_000],
  ["httpCheckFrequency", 20_000],
  ["address", "0.0.0.0"],
  ["port", 10250],
  ["readOnlyPort", 0],
  ["authentication.anonymous.enabled", false],
  ["authentication.webhook.enabled", true],
  ["authentication.webhook.cacheTTL", 120_000],
  ["authorization.mode", "Webhook"],
  ["authorization.webhook.cacheAuthorizedTTL", 300_000],
  ["authorization.webhook.cacheUnauthorizedTTL", 30_000],
  ["registryPullQPS", 5],
  ["registryBurst", 10],
  ["eventRecordQPS", 50],
  ["eventBurst", 100],
  ["enableDebuggingHandlers", true],
  ["healthzPort", 10248],
  ["healthzBindAddress", "127.0.0.1"],
  ["oomScoreAdj", -999],
  ["streamingConnectionIdleTimeout", 14_400_000],
  ["nodeStatusReportFrequency", 300_000],
  ["nodeStatusUpdateFrequency", 10_000],
  ["nodeLeaseDurationSeconds", 40],
  ["imageMinimumGCAge", 120_000],
  ["imageMaximumGCAge", 0],
  ["imageGCHighThresholdPercent", 85],
  ["imageGCLowThresholdPercent", 80],
  ["volumeStatsAggPeriod", 60_000],
  ["cgroupsPerQOS", true],
  ["cgroupDriver", "cgroupfs"],
  ["cpuManagerPolicy", "none"],
  ["cpuManagerReconcilePeriod", 10_000],
  ["draManagerReconcilePeriod", 60_000],
  ["memoryManagerPolicy", "None"],
  ["topologyManagerPolicy", "none"],
  ["topologyManagerScope", "container"],
  ["runtimeRequestTimeout", 120_000],
  ["hairpinMode", "promiscuous-bridge"],
  ["maxPods", 110],
  ["podPidsLimit", -1],
  ["resolvConf", "/etc/resolv.conf"],
  ["cpuCFSQuota", true],
  ["cpuCFSQuotaPeriod", 100],
  ["nodeStatusMaxImages", 50],
  ["maxOpenFiles", 1_000_000],
  ["contentType", "application/vnd.kubernetes.protobuf"],
  ["kubeAPIQPS", 50],
  ["kubeAPIBurst", 100],
  ["serializeImagePulls", true],
  ["evictionPressureTransitionPeriod", 300_000],
  ["mergeDefaultEvictionSettings", false],
  ["enableControllerAttachDetach", true],
  ["makeIPTablesUtilChains", true],
  ["iptablesMasqueradeBit", 14],
  ["iptablesDropBit", 15],
  ["failSwapOn", true],
  ["containerLogMaxSize", "10Mi"],
  ["containerLogMaxFiles", 5],
  ["containerLogMaxWorkers", 1],
  ["containerLogMonitorInterval", 10_000],
  ["configMapAndSecretChangeDetectionStrategy", "Watch"],
  ["enforceNodeAllocatable", ["pods"]],
  ["volumePluginDir", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"],
  ["enableSystemLogHandler", true],
  ["enableProfilingHandler", true],
  ["enableDebugFlagsHandler", true],
  ["seccompDefault", false],
  ["failCgroupV1", true],
  ["memoryThrottlingFactor", undefined],
  ["compat", undefined],
  ["memoryReservationPolicy", "None"],
  ["registerNode", true],
  ["localStorageCapacityIsolation", true],
  ["containerRuntimeEndpoint", "unix:///run/containerd/containerd.sock"],
  ["podLogsDir", "/var/log/pods"],
  ["crashLoopBackOff.maxContainerRestartPeriod", 300_000],
  ["imagePullCredentialsVerificationPolicy", "NeverVerifyPreloadedImages"],
  ["logging.format", "text"],
  ["logging.flushFrequency", 5_000],
  ["userNamespaces.idsPerPod", 65_536],
  [
    "evictionHard",
    {
      "memory.available": "100Mi",
      "nodefs.available": "10%",
      "nodefs.inodesFree": "5%",
      "imagefs.available": "15%",
      "imagefs.inodesFree": "5%",
    },
  ],
];

test("an empty file gives the defaults of Kubernetes 1.37", () => {
  for (const [path, value] of DEFAULTS) {
    assert.deepEqual(getAt(DEFAULT_CONFIG as never, path), value, path);
  }
});

/** Fields as written, and the value of one field after defaulting. */
const DEFAULTING: readonly (readonly [
  fields: Record<string, unknown>,
  path: string,
  value: unknown,
])[] = [
  [{ port: 0 }, "port", 10250],
  [{ maxPods: 0 }, "maxPods", 110],
  [{ address: "" }, "address", "0.0.0.0"],
  [{ syncFrequency: "0s" }, "syncFrequency", "1m0s"],
  [{ nodeLeaseDurationSeconds: 0 }, "nodeLeaseDurationSeconds", 40],
  [{ eventBurst: 0 }, "eventBurst", 100],
  [{ maxOpenFiles: 0 }, "maxOpenFiles", 1_000_000],
  [{ eventRecordQPS: 0 }, "eventRecordQPS", 0],
  [{ healthzPort: 0 }, "healthzPort", 0],
  [{ oomScoreAdj: 0 }, "oomScoreAdj", 0],
  [{ imageGCHighThresholdPercent: 0 }, "imageGCHighThresholdPercent", 0],
  [{ containerLogMaxFiles: 0 }, "containerLogMaxFiles", 0],
  [{ resolvConf: "" }, "resolvConf", ""],
  [{ podPidsLimit: -5 }, "podPidsLimit", -1],
  [{ podPidsLimit: 0 }, "podPidsLimit", 0],
  [{ enforceNodeAllocatable: [] }, "enforceNodeAllocatable", []],
  [{ evictionHard: {} }, "evictionHard", {}],
  [{ evictionHard: { "pid.available": "5%" } }, "evictionHard", { "pid.available": "5%" }],
  [{ nodeStatusUpdateFrequency: "30s" }, "nodeStatusReportFrequency", "30s"],
  [{ nodeStatusUpdateFrequency: "0s" }, "nodeStatusReportFrequency", "5m0s"],
  [
    { nodeStatusUpdateFrequency: "30s", nodeStatusReportFrequency: "1m0s" },
    "nodeStatusReportFrequency",
    "1m0s",
  ],
  [{ maxParallelImagePulls: 2 }, "serializeImagePulls", false],
  [{ maxParallelImagePulls: 1 }, "serializeImagePulls", true],
  [{ maxParallelImagePulls: 2, serializeImagePulls: true }, "serializeImagePulls", true],
];

test("defaulting treats zero, absence and related fields as v1beta1 does", () => {
  for (const [fields, path, value] of DEFAULTING) {
    const filled = withDefaults(fields as never);
    assert.deepEqual(getAt(filled, path), value, JSON.stringify(fields));
  }
});

test("two defaults depend on feature gates", () => {
  const { gates } = resolveGates({
    KubeletCrashLoopBackOffMax: false,
    KubeletEnsureSecretPulledImages: false,
  });
  const config = toKubeletConfig(withGateDefaults(withDefaults({}), gates));
  assert.deepEqual(config.crashLoopBackOff, {});
  assert.equal(config.imagePullCredentialsVerificationPolicy, undefined);
  assert.deepEqual(validateConfig(config, gates), []);
});

test("with compat 1.36 the throttling factor has its default, 0.9", () => {
  const { gates } = resolveGates({}, "1.36");
  const of = (fields: JsonObject) =>
    toKubeletConfig(withGateDefaults(withDefaults(fields), gates, "1.36")).memoryThrottlingFactor;
  assert.equal(of({}), 0.9);
  assert.equal(of({ memoryThrottlingFactor: 0.8 }), 0.8);
});

test("a written configuration decodes to itself", () => {
  const written = encodeConfig(DEFAULT_CONFIG);
  const { fields, problems } = decodeConfig(written, { source: "/c", keepNull: false });
  assert.deepEqual(problems, []);
  assert.deepEqual(toKubeletConfig(withDefaults(fields)), DEFAULT_CONFIG);
});

test("docs/configuration.md is up to date", () => {
  const path = new URL("../../../docs/configuration.md", import.meta.url);
  const document = readFileSync(path, "utf8");
  assert.equal(
    withGeneratedSections(document),
    document,
    "run tools/generate/generate-config-docs.mjs",
  );
  assert.match(document, /\| `maxPods` \| integer \| `110` \| active \|/);
});
