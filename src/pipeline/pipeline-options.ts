// pure
import { gatesInForce } from "../config/gates/feature-gates.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { PipelineOptions } from "./pipeline.ts";
import { type DeadContainerLimits, ONE_OF_EACH } from "./pods/plan/dead-containers.ts";
import type { PodSource, SourcesOptions } from "./sources/sources.ts";

export type { DeadContainerLimits };

interface PipelineSettings {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  readonly rootFolder: string;
  readonly cgroupVersion: 1 | 2;
  readonly orphanGraceSeconds?: number | "own";
  readonly keepOrphans?: boolean;
  /** Whether there can be no cluster with a resolver of its own. */
  readonly isAlone?: boolean;
  readonly deadContainers?: DeadContainerLimits;
}

/** Back-off of containers that fall over (MaxContainerBackOff and its first step). */
const MAX_RESTART_BACKOFF_MS = 300_000;
const INITIAL_RESTART_BACKOFF_MS = 10_000;
/** The same with the gate ReduceDefaultCrashLoopBackOffDecay (KEP-4603). */
const REDUCED_MAX_RESTART_BACKOFF_MS = 60_000;
const REDUCED_INITIAL_RESTART_BACKOFF_MS = 1_000;

/** Folders, sources and times from the configuration; `others` are sources beside manifests. */
export function pipelineOptionsOf(
  settings: PipelineSettings,
  others: readonly PodSource[],
): PipelineOptions {
  const { config, nodeName, rootFolder, cgroupVersion, orphanGraceSeconds = 1 } = settings;
  const headers = Object.entries(config.staticPodURLHeader).flatMap(([name, values]) =>
    values.map((value) => ({ name, value })),
  );
  return {
    roots: { root: rootFolder, logs: config.podLogsDir },
    stateFolder: `${rootFolder}/nodelet`,
    ledger: {
      allocated: `${rootFolder}/allocated_pods_state`,
      actuated: `${rootFolder}/actuated_pods_state`,
    },
    resizes: resizeSettings(config, cgroupVersion),
    sources: {
      nodeName,
      ...(config.staticPodPath === ""
        ? {}
        : { file: { path: config.staticPodPath, everyMs: config.fileCheckFrequency } }),
      ...(config.staticPodURL === ""
        ? {}
        : { http: { url: config.staticPodURL, headers, everyMs: config.httpCheckFrequency } }),
      others,
      rules: manifestRules(config),
    },
    orphanGraceSeconds,
    keepOrphans: settings.keepOrphans === true,
    missingDns: settings.isAlone === true ? "nodeOnce" : "everyPod",
    syncMs: config.syncFrequency,
    deadContainers: settings.deadContainers ?? ONE_OF_EACH,
    ...restartBackoffOf(config),
  };
}

/** First and longest pause of a container that falls over (kubelet newCrashLoopBackOff). */
export function restartBackoffOf(
  config: KubeletConfig,
): Pick<PipelineOptions, "initialRestartBackoffMs" | "maxRestartBackoffMs"> {
  const gates = gatesInForce(config);
  const isReduced = gates.isEnabled("ReduceDefaultCrashLoopBackOffDecay");
  const initialMs = isReduced ? REDUCED_INITIAL_RESTART_BACKOFF_MS : INITIAL_RESTART_BACKOFF_MS;
  const maxMs =
    config.crashLoopBackOff.maxContainerRestartPeriod ??
    (isReduced ? REDUCED_MAX_RESTART_BACKOFF_MS : MAX_RESTART_BACKOFF_MS);
  return { initialRestartBackoffMs: Math.min(initialMs, maxMs), maxRestartBackoffMs: maxMs };
}

/** What of static pods depends on feature gates. */
function manifestRules(config: KubeletConfig): NonNullable<SourcesOptions["rules"]> {
  const gates = gatesInForce(config);
  return {
    userNamespacesHostNetwork: gates.isEnabled("UserNamespacesHostNetworkSupport"),
    fillsPodResources: !gates.isEnabled("PodLevelResourcesFixDefaulting"),
    countsEmptyPodResources: !gates.isEnabled("PodLevelResourcesFixKubeletQOSClass"),
  };
}

function resizeSettings(config: KubeletConfig, cgroupVersion: 1 | 2): PipelineOptions["resizes"] {
  const gates = gatesInForce(config);
  const isOn = (gate: string) => gates.isEnabled(`InPlacePod${gate}`);
  return {
    podScaling: isOn("VerticalScaling"),
    initContainerScaling: isOn("VerticalScalingInitContainers"),
    podLevelScaling: isOn("LevelResourcesVerticalScaling"),
    exclusiveCpuScaling: isOn("VerticalScalingExclusiveCPUs"),
    exclusiveMemoryScaling: isOn("VerticalScalingExclusiveMemory"),
    podLevelManagers: gates.isEnabled("PodLevelResourceManagers"),
    preempts: !isOn("VerticalScalingSchedulerPreemption"),
    cpuManagerPolicy: config.cpuManagerPolicy,
    memoryManagerPolicy: config.memoryManagerPolicy,
    limitedSwap: config.memorySwap.swapBehavior === "LimitedSwap" && cgroupVersion === 2,
  };
}
