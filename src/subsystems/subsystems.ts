/** Builds the subsystems out of `Outside` and the configuration. They know nothing of one another. */
import type { Pod } from "../api/generated/types.ts";
import type { FoundPod, PodUid } from "../api/observation.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { Files, HostFacts } from "../outside/host/host.ts";
import type { Outside } from "../outside/outside.ts";
import {
  type Cgroups,
  cgroupOptionsOf,
  createCgroups,
  enforcementEvent,
  runtimeCgroupDriver,
} from "./cgroups/cgroups.ts";
import { type EventApi, type EventPolicy, type Events, startEvents } from "./events/events.ts";
import { Images } from "./images/images.ts";
import { Journal } from "./journal/journal.ts";
import { Logs } from "./logs/logs.ts";
import { createProbes, type Probes, type ProbeVerdict } from "./probes/probes.ts";
import { instrumentRuntime, parseResolvConf, Runtime } from "./runtime/runtime.ts";
import { Volumes } from "./volumes/volumes.ts";

export interface Subsystems {
  readonly cgroups: Cgroups;
  readonly events: Events;
  readonly images: Images;
  readonly journal: Journal;
  readonly logs: Logs;
  readonly probes: Probes;
  readonly runtime: Runtime;
  readonly volumes: Volumes;
}

export interface SubsystemOptions {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  readonly rootFolder: string;
  /** How events are treated; steps of life are protected unless told otherwise. */
  readonly events?: EventPolicy;
}

export interface SubsystemDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly facts: HostFacts;
  /** Where events are written to; without it they stay on the node. */
  readonly eventApi?: EventApi;
  readonly onFound: (pods: readonly FoundPod[]) => void;
  readonly isBusy: (uid: PodUid) => boolean;
  readonly onVerdict: (verdict: ProbeVerdict) => void;
  readonly podOf: (uid: PodUid) => Pod | undefined;
}

const JOURNAL_SEGMENT_BYTES = 1024 * 1024;
const JOURNAL_SEGMENTS = 4;
/** Sandboxes and containers made at once, for each processor: more only makes all of them late. */
const STARTS_PER_CPU = 2;

export async function startSubsystems(
  options: SubsystemOptions,
  deps: SubsystemDeps,
): Promise<Subsystems> {
  const { config, nodeName, rootFolder } = options;
  const { outside, scope, metrics, probeMetrics, facts } = deps;
  const { clock, random, log, host, net } = outside;
  const roots = { root: rootFolder, logs: config.podLogsDir };
  const cri = instrumentRuntime(outside.cri, clock, metrics);
  const events = await startEvents(
    {
      nodeName,
      folder: `${rootFolder}/nodelet/events`,
      rate: { qps: config.eventRecordQPS, burst: config.eventBurst },
      ...(options.events ? { policy: options.events } : {}),
    },
    {
      ...{ clock, random, metrics, scope, files: host.files, log: log.child("events") },
      ...(deps.eventApi ? { api: deps.eventApi } : {}),
    },
  );
  const journal = new Journal(
    {
      folder: `${rootFolder}/nodelet/journal`,
      segmentBytes: JOURNAL_SEGMENT_BYTES,
      segments: JOURNAL_SEGMENTS,
    },
    { files: host.files, clock, log: log.child("journal") },
  );
  await journal.open();
  scope.defer("journal", () => journal.flush());
  const cgroups = await connectCgroups(config, deps, cri.runtime);
  events.ofNode(enforcementEvent(await cgroups.start()));
  const images = new Images(
    {
      parallelPulls: config.serializeImagePulls
        ? 1
        : (config.maxParallelImagePulls ?? Number.POSITIVE_INFINITY),
    },
    {
      images: cri.images,
      clock,
      log: log.child("images"),
      recordEvent: (pod, container, event) => events.ofPod(pod, event, container),
    },
  );
  const volumes = new Volumes({ roots }, { files: host.files, random });
  const resolver = await readResolver(host.files, config.resolvConf || DEFAULT_RESOLV_CONF);
  const runtime = new Runtime(
    {
      roots,
      seccompDefault: config.seccompDefault,
      parallelStarts: STARTS_PER_CPU * facts.cpuCount,
    },
    {
      cri,
      clock,
      log: log.child("runtime"),
      metrics,
      scope,
      readTail: (path, maxBytes) => host.files.readTail(path, maxBytes),
      cgroupParent: (pod) => cgroups.criParent(pod),
      resources: (pod, container) => cgroups.containerResources(pod, container),
      dns: { servers: config.clusterDNS, domain: config.clusterDomain, host: resolver },
    },
    { onFound: deps.onFound, isBusy: deps.isBusy },
  );
  const probes = createProbes({
    clock,
    random,
    log: log.child("probes"),
    scope,
    metrics: probeMetrics,
    runtime: cri.runtime,
    net,
    onVerdict: deps.onVerdict,
    recordEvent: ({ podUid, container, type, reason, message }) => {
      const pod = deps.podOf(podUid as PodUid);
      if (pod) events.ofPod(pod, { type, reason, message }, container);
    },
  });
  const logs = startLogs(config, deps);
  return { cgroups, events, images, journal, logs, probes, runtime, volumes };
}

/** Folder of links to the logs of all containers, where collectors look for them. */
const LOG_LINK_FOLDER = "/var/log/containers";
/** Period of looking for links whose log is gone, as the reference's container GC. */
const SWEEP_LINKS_MS = 60_000;

function startLogs(config: KubeletConfig, { outside, scope }: SubsystemDeps): Logs {
  const { host, clock, log, serving } = outside;
  const logs = new Logs(
    { root: config.podLogsDir, linkFolder: LOG_LINK_FOLDER },
    { files: host.files, openFolder: serving?.openFolder, clock, log: log.child("logs") },
  );
  scope.spawn("links to logs", "restart", async (signal) => {
    for (;;) {
      await logs.links.sweep();
      await clock.sleep(SWEEP_LINKS_MS, signal);
    }
  });
  return logs;
}

/** The runtime's cgroup driver goes before the configured one, where it tells it. */
async function connectCgroups(
  config: KubeletConfig,
  { outside, scope, metrics, facts }: SubsystemDeps,
  runtime: Parameters<typeof runtimeCgroupDriver>[0],
): Promise<Cgroups> {
  const { host, clock } = outside;
  const log = outside.log.child("cgroups");
  const runtimeDriver = await runtimeCgroupDriver(runtime, log, scope.signal);
  const { systemd } = host;
  return createCgroups(
    { tree: host.cgroups, facts, clock, log, metrics, ...(systemd ? { systemd } : {}) },
    cgroupOptionsOf(config, {
      pageBytes: facts.pageBytes,
      ...(runtimeDriver === undefined ? {} : { runtimeDriver }),
    }),
  );
}

/** Largest resolv.conf that is read. */
const RESOLV_CONF_MAX_BYTES = 64 * 1024;
const DEFAULT_RESOLV_CONF = "/etc/resolv.conf";

async function readResolver(
  files: Files,
  path: string,
): Promise<ReturnType<typeof parseResolvConf>> {
  return parseResolvConf((await files.readText(path, { maxBytes: RESOLV_CONF_MAX_BYTES })) ?? "");
}
