/** Builds the subsystems out of `Outside` and the configuration. They know nothing of one another. */
import type { Pod } from "../api/generated/types.ts";
import type { LabelSet } from "../api/labels.ts";
import type { FoundPod, PodUid } from "../api/observation.ts";
import { podPaths } from "../api/pod-paths.ts";
import type { ResourceAmounts } from "../api/pod-resources.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { messageOf } from "../kit/errors.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFiles } from "../kit/state-files.ts";
import type { ContainerRuntime, RuntimeService } from "../outside/cri/cri.ts";
import type { HostFacts } from "../outside/host/host.ts";
import type {
  KubeClient,
  ObjectSource,
  RuntimeClassList,
  ServiceAccountTokens,
  ServiceList,
} from "../outside/kube/kube.ts";
import type { Outside } from "../outside/outside.ts";
import {
  type Cgroups,
  cgroupOptionsOf,
  createCgroups,
  enforcementEvent,
  runtimeCgroupDriver,
} from "./cgroups/cgroups.ts";
import { connectVolumes } from "./connect-volumes.ts";
import type { Devices } from "./devices/devices.ts";
import type { Environments } from "./environment/environment.ts";
import { type EventApi, type EventPolicy, type Events, startEvents } from "./events/events.ts";
import type { Images } from "./images/images.ts";
import { Journal } from "./journal/journal.ts";
import { Logs } from "./logs/logs.ts";
import { type DeviceSettings, type OpenDevicesDeps, openDevices } from "./open-devices.ts";
import { type OpenImagesDeps, type OwnImageSettings, openImages } from "./open-images.ts";
import {
  containerProcesses,
  createProbes,
  DEFAULT_PROBES_OPTIONS,
  type Probes,
  type ProbesOptions,
  type ProbeVerdict,
} from "./probes/probes.ts";
import {
  instrumentRuntime,
  openUserNamespaces,
  Resolver,
  Runtime,
  type UserNamespaces,
} from "./runtime/runtime.ts";
import { type FoundRunning, measuredPod, Stats } from "./stats/stats.ts";
import type { Volumes } from "./volumes/volumes.ts";

/** All rooms, started. */
export interface Subsystems {
  readonly cgroups: Cgroups;
  readonly devices: Devices;
  readonly environments: Environments;
  readonly events: Events;
  readonly images: Images;
  readonly journal: Journal;
  readonly logs: Logs;
  readonly probes: Probes;
  readonly runtime: Runtime;
  readonly stats: Stats;
  readonly volumes: Volumes;
}

/** What the rooms are told. */
export interface SubsystemOptions {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  readonly rootFolder: string;
  /** How events are treated; steps of life are protected unless told otherwise. */
  readonly events?: EventPolicy;
  readonly devices?: DeviceSettings;
  /** Rules for keeping images, and where credentials for registries are. */
  readonly images?: OwnImageSettings;
  /** Limits of probes, where they differ from the usual ones. */
  readonly probes?: Partial<ProbesOptions>;
}

/** What the rooms need of the outside and of each other. */
export interface SubsystemDeps
  extends Pick<OpenDevicesDeps, "activePods" | "onDevices" | "advertised">,
    Pick<OpenImagesDeps, "wantedPods" | "onImageProgress"> {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly state: StateFiles;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly facts: HostFacts;
  /** Where events are written to; without it they stay on the node. */
  readonly eventApi?: EventApi;
  /** Objects that pods refer to; absent where there is no API server. */
  readonly objects?: ObjectSource;
  /** Tokens of service accounts; absent where there is no API server. */
  readonly tokens?: ServiceAccountTokens;
  /** For requests of certificates; absent where there is no API server. */
  readonly client?: KubeClient;
  /** Services that pods are told of; absent where there is no API server. */
  readonly services?: ServiceList;
  /** Classes that pods name; absent where there is no API server. */
  readonly runtimeClasses?: RuntimeClassList;
  /** Labels of the node's object; absent where there is no API server. */
  readonly nodeLabels?: () => LabelSet | undefined;
  /** What pods may use of the node. */
  readonly allocatable: ResourceAmounts;
  readonly onFound: (pods: readonly FoundPod[]) => void;
  readonly isBusy: (uid: PodUid) => boolean;
  readonly onVerdict: (verdict: ProbeVerdict) => void;
  readonly podOf: (uid: PodUid) => Pod | undefined;
  /** All pods with what the runtime has of them. */
  readonly pods: () => readonly FoundRunning[];
}

const JOURNAL_SEGMENT_BYTES = 1024 * 1024;
const JOURNAL_SEGMENTS = 4;
/** Sandboxes and containers made at once, for each processor: more only makes all of them late. */
const STARTS_PER_CPU = 2;

/** Builds every room; throws when configuration and machine do not fit together. */
export async function startSubsystems(
  options: SubsystemOptions,
  deps: SubsystemDeps,
): Promise<Subsystems> {
  const events = await openEvents(options, deps);
  try {
    return await startRooms(options, deps, events);
  } catch (error) {
    if (!deps.scope.signal.aborted)
      events.ofNode({ type: "Warning", reason: "KubeletSetupFailed", message: messageOf(error) });
    throw error;
  }
}

async function startRooms(
  options: SubsystemOptions,
  deps: SubsystemDeps,
  events: Events,
): Promise<Subsystems> {
  const { config, rootFolder } = options;
  const { clock } = deps.outside;
  const cri = instrumentRuntime(deps.outside.cri, clock, deps.metrics);
  const journal = await openJournal(rootFolder, deps);
  const cgroups = await connectCgroups(config, deps, cri.runtime);
  events.ofNode(enforcementEvent(await cgroups.start()));
  const ground = { host: deps.outside.host, state: deps.state };
  const userNamespaces = await openUserNamespaces(options, ground, deps.scope.signal);
  return {
    cgroups,
    devices: await openDevices(options, { ...deps, events, journal }),
    events,
    journal,
    images: await openImages(options, { ...deps, cri, events, journal }),
    logs: startLogs(config, deps, cri.runtime),
    probes: connectProbes(options, deps, { runtime: cri.runtime, events, cgroups }),
    runtime: createRuntime(options, deps, cri, {
      ...{ cgroups, userNamespaces },
      resolver: await openResolver(config, deps, events),
    }),
    stats: createStats(options, deps, cri, cgroups),
    ...connectVolumes(options, deps, events),
  };
}

function openEvents(
  { config, nodeName, rootFolder, events: policy }: SubsystemOptions,
  { outside, scope, state, metrics, eventApi }: SubsystemDeps,
): Promise<Events> {
  const { clock, random } = outside;
  return startEvents(
    {
      nodeName,
      folder: `${rootFolder}/nodelet/events`,
      rate: { qps: config.eventRecordQPS, burst: config.eventBurst },
      ...(policy ? { policy } : {}),
    },
    {
      ...{ clock, random, metrics, scope, state, log: outside.log.child("events") },
      ...(eventApi ? { api: eventApi } : {}),
    },
  );
}

async function openJournal(
  rootFolder: string,
  { outside, scope, state }: SubsystemDeps,
): Promise<Journal> {
  const journal = new Journal(
    {
      folder: `${rootFolder}/nodelet/journal`,
      segmentBytes: JOURNAL_SEGMENT_BYTES,
      segments: JOURNAL_SEGMENTS,
    },
    { state, clock: outside.clock },
  );
  await journal.open();
  scope.defer("journal", () => journal.flush());
  return journal;
}

interface ProbeGround {
  readonly runtime: RuntimeService;
  readonly events: Events;
  readonly cgroups: Cgroups;
}

function connectProbes(
  { probes }: SubsystemOptions,
  { outside, scope, probeMetrics, onVerdict, podOf }: SubsystemDeps,
  { runtime, events, cgroups }: ProbeGround,
): Probes {
  const { clock, random, log, net, host } = outside;
  const processes = containerProcesses({
    host,
    podProcesses: (uid) => cgroups.podProcesses(uid),
    containerGroupAt: (path) => {
      const place = cgroups.locate(path);
      return place.kind === "container" ? place.group : undefined;
    },
  });
  return createProbes(
    {
      ...{ clock, random, scope, runtime, net, onVerdict, processes },
      log: log.child("probes"),
      metrics: probeMetrics,
      recordEvent: ({ podUid, container, type, reason, message }) => {
        const pod = podOf(podUid as PodUid);
        if (pod) events.ofPod(pod, { type, reason, message }, container);
      },
    },
    { ...DEFAULT_PROBES_OPTIONS, ...probes },
  );
}

function createRuntime(
  { config, rootFolder }: SubsystemOptions,
  { outside, scope, metrics, facts, onFound, isBusy, runtimeClasses }: SubsystemDeps,
  cri: ContainerRuntime,
  ground: {
    readonly cgroups: Cgroups;
    readonly resolver: Resolver;
    readonly userNamespaces: UserNamespaces;
  },
): Runtime {
  const { clock, log, host } = outside;
  const { cgroups, resolver, userNamespaces } = ground;
  return new Runtime(
    {
      roots: { root: rootFolder, logs: config.podLogsDir },
      seccompDefault: config.seccompDefault,
      parallelStarts: STARTS_PER_CPU * facts.cpuCount,
    },
    {
      ...{ cri, clock, metrics, scope, log: log.child("runtime") },
      readTail: (path, maxBytes) => host.podFiles.readTail(path, maxBytes),
      cgroupParent: (pod) => cgroups.criParent(pod),
      resources: (pod, container) => cgroups.containerResources(pod, container),
      sandboxResources: (pod) => cgroups.sandboxResources(pod),
      ...(runtimeClasses ? { runtimeClasses } : {}),
      ...{ resolver, userNamespaces },
    },
    { onFound, isBusy },
  );
}

function createStats(
  { config, nodeName, rootFolder }: SubsystemOptions,
  { outside, scope, facts, pods }: SubsystemDeps,
  cri: ContainerRuntime,
  cgroups: Cgroups,
): Stats {
  const { host, clock, log } = outside;
  const groups = [
    { name: "pods", path: cgroups.tierPath("Guaranteed") },
    { name: "burstable", path: cgroups.tierPath("Burstable") },
    { name: "besteffort", path: cgroups.tierPath("BestEffort") },
  ];
  const roots = { root: rootFolder, logs: config.podLogsDir };
  return new Stats(
    {
      nodeName,
      rootFolder,
      volumesMaxAgeMs: config.volumeStatsAggPeriod,
      groups: config.cgroupsPerQOS ? groups : [],
    },
    {
      ...{ host, clock, facts, signal: scope.signal, log: log.child("stats") },
      runtime: {
        listContainerStats: (signal) => cri.runtime.listContainerStats(signal),
        filesystems: async (signal) => (await cri.images.filesystems(signal)).images,
      },
      pods: () =>
        pods().flatMap((found) => {
          const { logs, volumes } = podPaths(roots, found.pod);
          const group = cgroups.podPath(found.pod, found.uid);
          const places = { group, logsFolder: logs, volumesFolder: volumes };
          return measuredPod(found, places) ?? [];
        }),
    },
  );
}

/** Folder of links to the logs of all containers, where collectors look for them. */
const LOG_LINK_FOLDER = "/var/log/containers";
/** Period of looking for links whose log is gone, as the reference's container GC. */
const SWEEP_LINKS_MS = 60_000;

function startLogs(
  config: KubeletConfig,
  { outside, scope }: SubsystemDeps,
  runtime: RuntimeService,
): Logs {
  const { host, clock, log, serving } = outside;
  const logs = new Logs(
    { root: config.podLogsDir, linkFolder: LOG_LINK_FOLDER },
    {
      files: host.podFiles,
      openFolder: serving?.openFolder,
      clock,
      log: log.child("logs"),
      reopen: (containerId, signal) => runtime.reopenLog(containerId, signal),
    },
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
  const runtimeDriver = await runtimeCgroupDriver(runtime, { log, metrics }, scope.signal);
  const { systemd } = host;
  return createCgroups(
    { tree: host.cgroups, facts, clock, log, metrics, ...(systemd ? { systemd } : {}) },
    cgroupOptionsOf(config, {
      pageBytes: facts.pageBytes,
      ...(runtimeDriver === undefined ? {} : { runtimeDriver }),
    }),
  );
}

/** The resolvers that pods can get; what the node's own holds too much of is said at once, and when it changes. */
async function openResolver(
  { clusterDNS: servers, clusterDomain: domain, resolvConf }: KubeletConfig,
  { outside, facts }: SubsystemDeps,
  events: Events,
): Promise<Resolver> {
  const resolver = new Resolver(
    { servers, domain, resolvConf, nodeIps: facts.addresses },
    {
      files: outside.host.files,
      onFault: (message) =>
        events.ofNode({ type: "Warning", reason: "CheckLimitsForResolvConf", message }),
    },
  );
  await resolver.read();
  return resolver;
}
