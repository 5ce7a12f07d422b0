// pure

import type { JsonValue } from "../../api/generated/types.ts";
import { parseDuration } from "../../api/text/duration.ts";
import { DEFAULT_GATES, type FeatureGates } from "../gates/feature-gates.ts";
import type { KubeletConfig } from "../kubelet-config.ts";
import { LATEST_RELEASE, type Release } from "../release.ts";
import { getAt, type JsonObject, setAt } from "../tree.ts";
import type { FieldType } from "./field-types.ts";
import { FIELDS } from "./fields.ts";

/** Longest restart pause while the gate KubeletCrashLoopBackOffMax is on and nothing else is set. */
const DEFAULT_MAX_RESTART_PERIOD = "5m0s";
/** Policy while the gate KubeletEnsureSecretPulledImages is on and nothing else is set. */
const DEFAULT_PULL_CREDENTIALS_POLICY = "NeverVerifyPreloadedImages";

/** Defaults that a release has and the latest has no more. */
const RELEASE_DEFAULTS: Readonly<Record<Release, readonly (readonly [string, JsonValue])[]>> = {
  "1.36": [["memoryThrottlingFactor", 0.9]],
  "1.37": [],
};

/**
 * Values that the Go kubelet has for these fields when it is started without `--config`. nodelet does not: with
 * or without a file it keeps the safe defaults of the file, and says so when it starts without one.
 * Source: `applyLegacyDefaults` and `loadConfigFile` of cmd/kubelet/app.
 */
const LEGACY_FLAG_DEFAULTS: readonly {
  readonly path: string;
  readonly go: JsonValue;
  readonly flag: string;
}[] = [
  { path: "authentication.anonymous.enabled", go: true, flag: "--anonymous-auth=true" },
  {
    path: "authentication.webhook.enabled",
    go: false,
    flag: "--authentication-token-webhook=false",
  },
  { path: "authorization.mode", go: "AlwaysAllow", flag: "--authorization-mode=AlwaysAllow" },
  { path: "readOnlyPort", go: 10255, flag: "--read-only-port=10255" },
  { path: "evictionHard", go: {}, flag: '--eviction-hard=""' },
];

/** The warning about those defaults. */
export const LEGACY_DEFAULTS_WARNING =
  "started without --config: nodelet keeps the defaults of a configuration file (anonymous requests off, " +
  "token webhook on, authorization by Webhook, no read-only port, hard eviction thresholds on). " +
  "The Go kubelet would use its old flag defaults here; to get one of those, set its flag, e.g. " +
  `${LEGACY_FLAG_DEFAULTS.slice(0, 4)
    .map(({ flag }) => flag)
    .join(" ")}`;

/**
 * Fills in what is not set, as v1beta1 defaulting of Kubernetes does. `fields` is checked input in
 * file form; the result is complete except for what depends on gates and release, see `withGateDefaults`.
 */
export function withDefaults(fields: JsonObject): JsonObject {
  let filled = fields;
  const set = (path: string, value: JsonValue): void => {
    filled = setAt(filled, path, value);
  };
  if (isUnset(filled, "nodeStatusReportFrequency")) {
    const update = getAt(filled, "nodeStatusUpdateFrequency");
    if (update !== undefined && !isUnset(filled, "nodeStatusUpdateFrequency")) {
      set("nodeStatusReportFrequency", update);
    }
  }
  const parallel = getAt(filled, "maxParallelImagePulls");
  if (isUnset(filled, "serializeImagePulls") && typeof parallel === "number" && parallel >= 2) {
    set("serializeImagePulls", false);
  }
  const pids = getAt(filled, "podPidsLimit");
  if (typeof pids === "number" && pids < 0) set("podPidsLimit", -1);
  for (const field of FIELDS) {
    if (field.default !== undefined && isUnset(filled, field.path)) set(field.path, field.default);
  }
  return filled;
}

/** The defaults that depend on the release and on which features are on; the last step before the flags. */
export function withGateDefaults(
  fields: JsonObject,
  gates: FeatureGates,
  release: Release = LATEST_RELEASE,
): JsonObject {
  let filled = fields;
  for (const [path, value] of RELEASE_DEFAULTS[release]) {
    if (isUnset(filled, path)) filled = setAt(filled, path, value);
  }
  const restart = "crashLoopBackOff.maxContainerRestartPeriod";
  if (gates.isEnabled("KubeletCrashLoopBackOffMax") && isUnset(filled, restart)) {
    filled = setAt(filled, restart, DEFAULT_MAX_RESTART_PERIOD);
  }
  const policy = "imagePullCredentialsVerificationPolicy";
  if (gates.isEnabled("KubeletEnsureSecretPulledImages") && (getAt(filled, policy) ?? "") === "") {
    filled = setAt(filled, policy, DEFAULT_PULL_CREDENTIALS_POLICY);
  }
  return filled;
}

const ZERO_IS_UNSET: ReadonlySet<string> = new Set(
  FIELDS.filter((field) => field.zeroIsUnset).map((field) => field.path),
);

function isUnset(fields: JsonObject, path: string): boolean {
  const value = getAt(fields, path);
  if (value === undefined || value === null) return true;
  return ZERO_IS_UNSET.has(path) && (value === 0 || value === "" || value === "0s");
}

/**
 * Turns complete fields in file form into the typed configuration: durations become milliseconds.
 * Problems of the input must have been reported before; a duration that cannot be read is 0.
 */
export function toKubeletConfig(fields: JsonObject): KubeletConfig {
  let typed: JsonObject = { tracing: {}, crashLoopBackOff: {} };
  for (const { path, type } of FIELDS) {
    const value = getAt(fields, path);
    if (value !== undefined && value !== null) typed = setAt(typed, path, typedValue(type, value));
  }
  return typed as unknown as KubeletConfig;
}

function typedValue(type: FieldType, value: JsonValue): JsonValue {
  if (type.kind !== "duration") return value;
  const parsed = parseDuration(String(value));
  return parsed.ok ? parsed.ms : 0;
}

/** The configuration of an empty file. */
export const DEFAULT_CONFIG: KubeletConfig = toKubeletConfig(
  withGateDefaults(withDefaults({}), DEFAULT_GATES),
);
