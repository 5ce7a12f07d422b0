/**
 * The way of a pod: sources -> admission -> pods -> status. This file joins the rooms and builds what
 * the pods room asks for out of the subsystems; it decides nothing.
 */
import type { Pod } from "../api/generated/types.ts";
import type { FoundPod, PodUid } from "../api/observation.ts";
import { podDescription, podDisplayName } from "../api/pod.ts";
import { podPaths } from "../api/pod-paths.ts";
import { qosClassOf } from "../api/qos.ts";
import type { Reading } from "../kit/cell.ts";
import { messageOf } from "../kit/errors.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFiles } from "../kit/state-files.ts";
import type { Outside } from "../outside/outside.ts";
import type { Cgroups } from "../subsystems/cgroups/cgroups.ts";
import type { Devices } from "../subsystems/devices/devices.ts";
import type { Environments } from "../subsystems/environment/environment.ts";
import type { Events } from "../subsystems/events/events.ts";
import type { Images } from "../subsystems/images/images.ts";
import type { Journal } from "../subsystems/journal/journal.ts";
import type { Logs } from "../subsystems/logs/logs.ts";
import type { Probes } from "../subsystems/probes/probes.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";
import type { Volumes } from "../subsystems/volumes/volumes.ts";
import type { ResizeSettings } from "./admission/judge-resize.ts";
import { AllocationLedger, type LedgerPaths } from "./admission/ledger.ts";
import { judge, type NodeRoom, RULES, wantsStrictGroups } from "./admission/rules.ts";
import { securityOf, UNASKED_RUNTIME } from "./confinement.ts";
import { createContainer } from "./create-container.ts";
import { hookPort } from "./hook-port.ts";
import { makeRoom } from "./make-room.ts";
import { type DeadContainerLimits, keptDead } from "./pods/dead-containers.ts";
import { deviceLife } from "./pods/device-life.ts";
import { isFinished } from "./pods/phase.ts";
import { type Admit, Pods } from "./pods/pods.ts";
import type { PodPorts } from "./pods/ports.ts";
import { probeTargets } from "./pods/probe-targets.ts";
import type { PodRecord } from "./pods/record.ts";
import { collecting, sayAboutDns, tellMissingFeatures } from "./port-events.ts";
import { heldBy, resizePort } from "./resize-port.ts";
import { Sources, type SourcesOptions, type WantedPod } from "./sources/sources.ts";
import { Statuses } from "./status/status.ts";

/** Folders, sources and times of the pipeline. */
export interface PipelineOptions {
  readonly roots: { readonly root: string; readonly logs: string };
  /** Folder of what the agent keeps for itself. */
  readonly stateFolder: string;
  /** Files of what pods were given, and of what they have. */
  readonly ledger: LedgerPaths;
  readonly resizes: ResizeSettings;
  readonly sources: SourcesOptions;
  readonly orphanGraceSeconds: number | "own";
  readonly deadContainers: DeadContainerLimits;
  readonly maxRestartBackoffMs: number;
  readonly initialRestartBackoffMs: number;
}

/** The subsystems the pipeline stands on. */
export interface PipelineSubsystems {
  readonly cgroups: Cgroups;
  readonly devices: Devices;
  readonly environments: Environments;
  readonly events: Events;
  readonly images: Images;
  readonly journal: Journal;
  readonly logs: Logs;
  readonly probes: Probes;
  readonly runtime: Runtime;
  readonly volumes: Volumes;
}

/** What the pipeline is joined from. */
export interface PipelineDeps extends PipelineSubsystems {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly state: StateFiles;
  readonly room: () => NodeRoom;
  readonly hostIps: () => readonly string[];
  readonly runtimeName: () => string;
  /** Whether statuses show the devices of containers with their health. */
  readonly showsDevices: boolean;
  /** Whether a pod that no source names is to be left alone: its object is lost, nobody has deleted it. */
  readonly isSpared: (namespace: string, name: string) => boolean;
  /** Admission rules of whoever embeds the agent; asked after our own. */
  readonly admit?: Admit;
}

type DepsWithLedger = PipelineDeps & { readonly ledger: AllocationLedger };

/** The joined rooms, for readers and for the node. */
export interface Pipeline {
  readonly pods: Pods;
  readonly statuses: Statuses;
  readonly sources: Sources;
  readonly ledger: AllocationLedger;
  /** Whether every source was seen and the runtime was listed: from then on orphans are ended. */
  readonly seen: Reading<boolean>;
}

/** Builds the pipeline; `startPipeline` sets it going. */
export function createPipeline(options: PipelineOptions, deps: PipelineDeps): Pipeline {
  const { outside, scope, state } = deps;
  const { clock, random, log, host, net } = outside;
  const statuses = new Statuses(
    { folder: `${options.stateFolder}/pods` },
    {
      state,
      clock,
      runtimeName: deps.runtimeName,
      hostIps: deps.hostIps,
      ...(deps.showsDevices
        ? { devices: (uid, name) => deps.devices.allocatedResources(uid, name) }
        : {}),
    },
  );
  const ledger = new AllocationLedger(options.ledger, { state });
  const pods: Pods = new Pods(
    { orphanGraceSeconds: options.orphanGraceSeconds },
    {
      clock,
      random,
      log,
      scope,
      ports: podPorts(options, { ...deps, ledger }, () => pods),
      admit: admission({ ...deps, ledger }, () => pods),
      context: () => planContext(options, deps, pods),
      publishedBefore: (uid) => statuses.publishedBefore(uid),
      isSpared: deps.isSpared,
      knownBefore: (uid) => statuses.knownBefore(uid),
    },
  );
  pods.subscribe((record) => {
    deps.devices.observe({ uid: record.uid, pod: record.pod, ...deviceLife(record) });
    statuses.update(record);
    watchProbes(record, deps);
    deps.volumes.podChanged(record.pod);
  });
  const sources = new Sources(options.sources, {
    ...{ files: host.files, net, clock, scope },
    log: log.child("sources"),
    onWanted: (wanted) => acceptWanted(pods, wanted, deps),
    onUnwanted: (uid, graceSeconds) =>
      pods.accept({
        kind: "removed",
        uid,
        ...(graceSeconds === undefined ? {} : { graceSeconds }),
      }),
    onDuplicate: ({ pod, source }) =>
      deps.events.ofPod(pod, {
        type: "Warning",
        reason: "FailedValidation",
        message: `Error validating pod ${podDescription(pod)} from ${source} due to duplicate pod name ${JSON.stringify(pod.metadata?.name)}, ignoring`,
      }),
    onUnknownFields: (pod, message) =>
      deps.events.ofPod(pod, { type: "Warning", reason: "UnknownField", message }),
  });
  return { pods, statuses, sources, ledger, seen: sources.seen };
}

function acceptWanted(
  pods: Pods,
  { uid, pod, source }: WantedPod,
  { events, room }: PipelineDeps,
): void {
  const before = pods.get(uid)?.desired;
  tellMissingFeatures(events, { before, now: pod }, room().declaredFeatures);
  pods.accept({ kind: "desired", uid, pod, source });
}

/** Looks first, then lets the sources speak: nothing is started or ended before both were seen. */
export async function startPipeline(pipeline: Pipeline, deps: PipelineDeps): Promise<void> {
  const { pods, statuses, sources, ledger } = pipeline;
  await statuses.open();
  await ledger.open();
  const found = await lookUntilSeen(deps);
  deps.devices.adopt(found.filter((pod) => pod.kind === "observed"));
  pods.found(found);
  const onSeen = () => {
    pods.sourcesSeen();
    statuses.dropUnclaimed((uid) => pods.knows(uid));
    ledger.dropUnclaimed((uid) => pods.knows(uid as PodUid));
    deps.devices.sourcesSeen((uid) => pods.knows(uid));
  };
  if (sources.seen.get()) onSeen();
  else {
    const stop = sources.seen.subscribe((seen) => {
      if (!seen) return;
      stop();
      onSeen();
    });
  }
  sources.start();
  deps.scope.defer(
    "health of the runtime",
    deps.runtime.watch.health.subscribe(() => pods.replan()),
  );
  deps.scope.defer("statuses", () => statuses.flush());
}

/** Pause before the runtime is listed again after it could not be at start. */
const FIRST_LOOK_RETRY_MS = 1_000;

/** Nothing may be decided before it is known what runs, however long the runtime takes to say so. */
async function lookUntilSeen({
  runtime,
  outside,
  scope,
}: PipelineDeps): Promise<readonly FoundPod[]> {
  for (;;) {
    try {
      return await runtime.watch.lookOnce(scope.signal);
    } catch (error) {
      if (scope.signal.aborted) throw error;
      outside.log.warn("waiting for the runtime to say what runs", { problem: messageOf(error) });
      await outside.clock.sleep(FIRST_LOOK_RETRY_MS, scope.signal);
    }
  }
}

function planContext(
  options: PipelineOptions,
  deps: PipelineDeps,
  pods: Pods,
): ReturnType<ConstructorParameters<typeof Pods>[1]["context"]> {
  const health = deps.runtime.watch.health.get();
  return {
    restartBackoff: {
      initialMs: options.initialRestartBackoffMs,
      maxMs: options.maxRestartBackoffMs,
    },
    keptDead: keptDead(options.deadContainers, pods.list()),
    runtimeReady: health.ready,
    network: { ready: health.networkReady, message: health.networkProblem },
  };
}

/** Our rules, those of whoever embeds the agent, and devices last: what is granted need not be given back then. */
function admission(deps: DepsWithLedger, pods: () => Pods): Admit {
  return async (candidate, others) => {
    const { ready } = deps.runtime.watch.health.get();
    if (!ready && wantsStrictGroups(candidate.pod)) return UNASKED_RUNTIME;
    const room = { ...deps.room(), security: securityOf(deps) };
    const holders = others.map((record) => ({ ...record, pod: heldBy(record, deps.ledger) }));
    const refusal = judge({
      candidate: candidate.pod,
      others: holders.map(({ pod }) => pod),
      room,
    });
    if (refusal) {
      const { events } = deps;
      const decisions = decisionPort(deps);
      const place = makeRoom(candidate, holders, { events, decisions, pods: pods(), room });
      return place ?? { kind: "reject", ...refusal };
    }
    const verdict = await deps.admit?.(candidate, others);
    if (verdict && verdict.kind !== "admit") return verdict;
    const admitted = verdict ?? { kind: "admit", rules: RULES.length };
    // A pod that is done, or was dropped meanwhile, would never give back what it gets now.
    const now = pods().get(candidate.uid);
    if (now?.life.kind !== "waiting" || isFinished(now)) return admitted;
    const devices = await deps.devices.grant(candidate.uid, candidate.pod);
    if (devices.kind === "granted") return admitted;
    const { reason, message } = devices;
    return devices.kind === "refused"
      ? { kind: "reject", rule: "devices", reason, message }
      : { kind: "defer", rule: "devices", reason, message, retryInMs: devices.retryInMs };
  };
}

function watchProbes(record: PodRecord, { probes, hostIps }: PipelineDeps): void {
  const wanted = probeTargets(record, hostIps()[0]);
  if (!wanted) {
    probes.forget(record.uid);
    return;
  }
  const { namespace = "", name = "", annotations } = record.pod.metadata ?? {};
  const { uid, ip, ended, ending, containers } = wanted;
  const pod = { uid, namespace, name, ip, ended, ending };
  probes.watch(annotations ? { ...pod, annotations } : pod, containers);
}

/** What the pods room needs, out of what the subsystems offer. */
function podPorts(options: PipelineOptions, deps: DepsWithLedger, pods: () => Pods): PodPorts {
  return {
    ground: groundPort(options, deps, pods),
    runtime: runtimePort(deps),
    images: deps.images,
    hooks: hookPort(deps, pods),
    resizes: resizePort({
      ...deps,
      settings: options.resizes,
      activePods: () => activePods(pods()),
    }),
    events: {
      record: (pod, { container, ...said }) => deps.events.ofPod(pod, said, container),
    },
    decisions: decisionPort(deps),
  };
}

function decisionPort({ journal }: PipelineDeps): PodPorts["decisions"] {
  return {
    decide: ({ pod, uid }, because) =>
      journal.record({ kind: "pod", name: podDisplayName(pod), uid }, because),
  };
}

const POD_FOLDER_MODE = 0o750;
const LOG_FOLDER_MODE = 0o755;

function groundPort(
  options: PipelineOptions,
  deps: PipelineDeps,
  pods: () => Pods,
): PodPorts["ground"] {
  const { podFiles: files } = deps.outside.host;
  const uidOf = (pod: Pod) => pod.metadata?.uid ?? "";
  return {
    makeDirectories: async (pod) => {
      const paths = podPaths(options.roots, pod);
      for (const path of [paths.directory, paths.volumes, paths.plugins])
        await files.makeDirectory(path, POD_FOLDER_MODE);
      await files.makeDirectory(paths.logs, LOG_FOLDER_MODE);
    },
    removeDirectories: async (pod) => {
      const paths = podPaths(options.roots, pod);
      await files.removeTree(paths.directory);
      await files.removeTree(paths.logs);
    },
    createCgroup: async (pod) => {
      await deps.cgroups.updateQos(activePods(pods()));
      return deps.cgroups.ensurePod(pod, uidOf(pod));
    },
    removeCgroup: async (pod) => {
      await deps.cgroups.removePod(uidOf(pod), qosClassOf(pod));
      await deps.runtime.releaseIds(uidOf(pod));
    },
    mountVolumes: async (pod, signal) => {
      deps.environments.follow(pod);
      await deps.volumes.mount(pod, signal);
    },
    unmountVolumes: async (pod) => {
      deps.environments.forget(uidOf(pod));
      await deps.volumes.unmount(pod);
    },
  };
}

/** Pods whose demands count for the shares of their class. */
export function activePods(pods: Pick<Pods, "list">): readonly Pod[] {
  return pods
    .list()
    .filter(({ life }) => life.kind === "running" || life.kind === "terminating")
    .map(({ pod }) => pod);
}

/** Pods that have or may get containers: their images are not to go. */
export function wantedPods(pods: Pick<Pods, "list">): readonly Pod[] {
  return pods
    .list()
    .filter(({ life }) => life.kind === "waiting" || life.kind === "running")
    .map(({ pod }) => pod);
}

function runtimePort(deps: PipelineDeps): PodPorts["runtime"] {
  const { runtime, logs } = deps;
  return {
    observe: (uid, signal) => runtime.observe(uid, signal),
    createSandbox: async (pod, attempt, signal) => {
      await sayAboutDns(deps, pod);
      return await runtime.createSandbox(pod, attempt, signal);
    },
    createContainer: (order, signal) => createContainer(order, deps, signal),
    startContainer: async (id, signal) => {
      await runtime.startContainer(id, signal);
      await logs.links.started(id);
    },
    stopContainer: (id, graceSeconds, signal) => runtime.stopContainer(id, graceSeconds, signal),
    stopSandbox: (id, signal) => runtime.stopSandbox(id, signal),
    removeContainer: async (attempt, signal) => {
      await collecting(deps, signal, () => runtime.removeContainer(attempt.id, signal));
      await deps.cgroups.clearRemoved(attempt.pod, attempt.pod.metadata?.uid ?? "", attempt.id);
      await logs.removed(attempt);
      await deps.volumes.removed(attempt);
    },
    removeSandbox: async (pod, id, signal) => {
      await collecting(deps, signal, () => runtime.removeSandbox(id, signal));
      await deps.cgroups.clearRemoved(pod, pod.metadata?.uid ?? "", id);
    },
  };
}
