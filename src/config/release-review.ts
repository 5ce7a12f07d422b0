// pure
/** What changes for a configuration when a node goes from 1.36 to 1.37. */
import type { LoadedConfig } from "./assemble.ts";
import { deriveReservations } from "./derive.ts";
import { FIELDS } from "./fields/fields.ts";
import { encodeConfig } from "./file/encode-config.ts";
import { isRemovedIn137 } from "./flags/removed-flags.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { formatConfigProblem } from "./problem.ts";
import { getAt } from "./tree.ts";

/** One setting, or one default, that counts otherwise with the other release. */
export interface ReleaseChange {
  /** A field, a flag, or a feature gate. */
  readonly setting: string;
  readonly in136: string;
  readonly in137: string;
  /** What that means for the node. */
  readonly effect: string;
}

/** The same files and flags, loaded for each of the two releases. */
interface LoadedForBoth {
  readonly before: LoadedConfig;
  readonly after: LoadedConfig;
  /** Names of the flags that were given. */
  readonly flags: readonly string[];
}

/** Gates with another default in 1.37, and what a node does with them on. */
const GATE_EFFECTS: Readonly<Record<string, string>> = {
  ClusterTrustBundle: "trust bundles are read from certificates.k8s.io/v1",
  ClusterTrustBundleProjection: "volumes with trust bundles work without a setting",
  HugepageAwareEviction: "memory.available leaves out reserved huge pages: eviction begins earlier",
  KubeletInUserNamespace: "kernel settings that a user namespace does not allow are not an error",
  MemoryQoS:
    "memory.min and memory.low with memoryReservationPolicy, memory.high with memoryThrottlingFactor",
  NativeHistograms: "scrapes in protobuf may have native histograms",
  PodCertificateRequest: "volumes with certificates of pods work without a setting",
  PodLevelResourcesFixDefaulting:
    "static pods with limits at pod level get no requests from them: they may be Burstable, not Guaranteed",
  PodLevelResourcesFixKubeletQOSClass: "empty resources at pod level count for the QoS class",
  PodsAPI: "the pods API is served below pods-api/ in the root folder",
  SELinuxMount: "volumes are mounted with the SELinux label of their pod",
};

/** Everything that changes, in the order flags, refusals, gates, fields. */
export function releaseChanges(loaded: LoadedForBoth): readonly ReleaseChange[] {
  const { before, after, flags } = loaded;
  return [
    ...removedFlags(flags),
    ...refusals(before, after),
    ...changedGates(before, after),
    ...changedFields(before.config, after.config),
    ...otherReadings(after.config),
  ];
}

function removedFlags(flags: readonly string[]): readonly ReleaseChange[] {
  return flags.filter(isRemovedIn137).map((flag) => ({
    setting: `--${flag}`,
    in136: "deprecated",
    in137: "ignored",
    effect: "a Go kubelet 1.37 does not start with it: remove it",
  }));
}

function refusals(before: LoadedConfig, after: LoadedConfig): readonly ReleaseChange[] {
  const known = new Set(before.problems.map(formatConfigProblem));
  return after.problems
    .filter((problem) => !known.has(formatConfigProblem(problem)))
    .map((problem) => ({
      setting: problem.path,
      in136: "accepted",
      in137: "refused",
      effect: formatConfigProblem(problem),
    }));
}

function changedGates(before: LoadedConfig, after: LoadedConfig): readonly ReleaseChange[] {
  const enabled = new Map(before.gates.all.map(({ gate, enabled: isOn }) => [gate.name, isOn]));
  return after.gates.all.flatMap(({ gate: { name }, enabled: isOn }) => {
    const effect = GATE_EFFECTS[name];
    const wasOn = enabled.get(name) ?? false;
    if (effect === undefined || wasOn === isOn) return [];
    return [{ setting: `featureGates.${name}`, in136: onOff(wasOn), in137: onOff(isOn), effect }];
  });
}

const onOff = (isOn: boolean): string => (isOn ? "on" : "off");

/** Defaults of fields; what names the release itself is left out. */
function changedFields(before: KubeletConfig, after: KubeletConfig): readonly ReleaseChange[] {
  const [old, now] = [encodeConfig(before), encodeConfig(after)];
  return FIELDS.flatMap(({ path }) => {
    const [was, is] = [getAt(old, path), getAt(now, path)].map((value) => JSON.stringify(value));
    if (was === is || path === "compat" || path === "featureGates") return [];
    const effect = "the default of the release";
    return [{ setting: path, in136: was ?? "unset", in137: is ?? "unset", effect }];
  });
}

/** Values that are the same and count otherwise in 1.37, here with either release. */
function otherReadings(config: KubeletConfig): readonly ReleaseChange[] {
  const changes: ReleaseChange[] = [];
  if (config.eventRecordQPS === 0) {
    const effect = "the Go kubelet 1.36 limits events in spite of the 0";
    changes.push({ setting: "eventRecordQPS", in136: "5 a second", in137: "no limit", effect });
  }
  const counted = deriveReservations(config);
  for (const field of ["systemReserved", "kubeReserved"] as const) {
    const [written, cpu] = [config[field]["cpu"], counted[field]["cpu"]];
    if (written === undefined || cpu === undefined || !/\.\d|[un]$/.test(written)) continue;
    const effect = "reserved cpu is rounded to whole millicores";
    changes.push({ setting: `${field}.cpu`, in136: written, in137: cpu, effect });
  }
  return changes;
}
