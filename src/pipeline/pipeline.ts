/**
 * The way of a pod: sources -> admission -> pods -> status. This file joins the modules and builds what
 * the pods module asks for out of the subsystems; it decides nothing.
 *
 *     const pipeline = createPipeline(options, deps);
 *     await startPipeline(pipeline, deps);
 *     pipeline.pods.list(); // records of all pods
 */
import type { ResourceStatus } from "../api/generated/types.ts";
import type { FoundPod, PodUid } from "../api/observation.ts";
import type { PodFact, PodFacts } from "../api/pod-facts.ts";
import type { PodNews } from "../api/pod-news.ts";
import type { Reading } from "../kit/cell.ts";
import type { CellMap } from "../kit/cell-map.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFiles } from "../kit/state/state-files.ts";
import type { Topic } from "../kit/topic.ts";
import type { Outside } from "../outside/outside.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import { createAdmission, createPreemption } from "./admission/admission.ts";
import { AllocationLedger, type LedgerPaths } from "./admission/ledger.ts";
import type { NodeInfo } from "./admission/rules.ts";
import type { Topology } from "./admission/topology/topology.ts";
import type { Admit } from "./pods/admit.ts";
import { FlightRecorder } from "./pods/flight/flight-recorder.ts";
import { type DeadContainerLimits, keptDead } from "./pods/plan/dead-containers.ts";
import { Pods } from "./pods/pods.ts";
import { deviceLife } from "./pods/record/device-life.ts";
import { probeTargets } from "./pods/record/probe-targets.ts";
import type { PodRecord } from "./pods/record/record.ts";
import { takeNews } from "./pods/take-news.ts";
import { ForeignPods } from "./pods/waiting/foreign-pods.ts";
import { measurePort, type PortOptions, podPorts, recordMissingFeatures } from "./ports/ports.ts";
import { type DesiredPod, Sources, type SourcesOptions } from "./sources/sources.ts";
import { ContinuedCounts } from "./status/continued-counts.ts";
import { Statuses } from "./status/status.ts";

/** Folders, sources and times of the pipeline. */
export interface PipelineOptions extends PortOptions {
  /** Folder of what the agent keeps for itself. */
  readonly stateFolder: string;
  /** Files of what pods were given, and of what they have. */
  readonly ledger: LedgerPaths;
  readonly sources: SourcesOptions;
  readonly orphanGraceSeconds: number | "own";
  readonly keepOrphans: boolean;
  readonly missingDns: PortOptions["missingDns"];
  readonly deadContainers: DeadContainerLimits;
  readonly maxRestartBackoffMs: number;
  /** How long a pod goes at most without being planned again. */
  readonly syncMs: number;
  readonly initialRestartBackoffMs: number;
}

export interface PipelineDeps extends Subsystems {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly state: StateFiles;
  readonly metrics: MetricsRegistry;
  /** Facts about pods for other modules; written by the pipeline. */
  readonly podFacts: CellMap<PodUid, PodFact>;
  /** News about pods from other modules; read by the pipeline. */
  readonly news: Topic<PodNews>;
  readonly topology: Topology;
  readonly nodeInfo: () => NodeInfo;
  readonly hostIps: () => readonly string[];
  readonly runtimeName: () => string;
  /** Whether statuses show the devices of containers with their health. */
  readonly showsDevices: boolean;
  /** Whether statuses show the resources of pods as a whole. */
  readonly showsPodResources: boolean;
  /** Whether a pod that no source names is to be left alone: its object was lost, not deleted. */
  readonly isSpared: (namespace: string, name: string) => boolean;
  /** Admission rules of the embedding program; evaluated after our own. */
  readonly admit?: Admit;
}

/** The joined modules, for readers and for the node. */
export interface Pipeline {
  readonly pods: Pods;
  /** The last steps of all pods. */
  readonly flight: FlightRecorder;
  readonly statuses: Statuses;
  readonly foreign: ForeignPods;
  readonly sources: Sources;
  readonly ledger: AllocationLedger;
  /** Facts about pods for other modules. */
  readonly podFacts: PodFacts;
  /** Whether every source was seen and the runtime was listed: from then on orphans are ended. */
  readonly seen: Reading<boolean>;
}

/** Builds the pipeline; `startPipeline` sets it going. */
export function createPipeline(options: PipelineOptions, deps: PipelineDeps): Pipeline {
  const { outside, scope, state } = deps;
  const { clock, random, log, tracer } = outside;
  const statuses = openStatuses(options, deps);
  const ledger = new AllocationLedger(options.ledger, { state, clock });
  const { podFacts, news } = deps;
  const measures = measurePort({ metrics: deps.metrics, clock });
  const counts = new ContinuedCounts(clock);
  const flight = new FlightRecorder(clock);
  const preempt = createPreemption({ ...deps, decisions: deps.journal });
  const pods = new Pods(
    { orphanGraceSeconds: options.orphanGraceSeconds, keepOrphans: options.keepOrphans },
    {
      clock,
      random,
      log,
      tracer,
      flight,
      scope,
      facts: podFacts,
      ports: podPorts(options, { ...deps, ledger, counts, measures, preempt }),
      admit: createAdmission({ ...deps, ledger, preempt }),
      context: () => planContext(options, deps),
      publishedBefore: (uid) => statuses.publishedBefore(uid),
      isSpared: deps.isSpared,
      knownBefore: (uid) => statuses.knownBefore(uid),
    },
  );
  pods.subscribe((record) => {
    const held = { uid: record.uid, pod: record.pod, ...deviceLife(record) };
    deps.devices.observe(held);
    deps.cpus.observe(held);
    deps.memory.observe(held);
    const shown = statuses.get(record.uid);
    if (shown && record.life.kind === "released") counts.released(shown);
    statuses.update(record);
    watchProbes(record, deps);
    deps.volumes.podChanged(record.pod);
  });
  const foreign = foreignPods(options, pods, deps);
  const sources = openSources(options, { pods, foreign }, deps);
  news.drain((item) => takeNews(pods, foreign, item));
  return { pods, flight, statuses, foreign, sources, ledger, podFacts, seen: sources.seen };
}

function openStatuses(options: PipelineOptions, deps: PipelineDeps): Statuses {
  return new Statuses(
    {
      file: `${options.stateFolder}/pod-statuses.jsonl`,
      earlierFolder: `${options.stateFolder}/pods`,
    },
    {
      state: deps.state,
      clock: deps.outside.clock,
      metrics: deps.metrics,
      runtimeName: deps.runtimeName,
      hostIps: deps.hostIps,
      events: deps.events,
      recursiveReadOnly: (pod) => deps.runtime.canMountRecursiveReadOnly(pod),
      showsPodResources: deps.showsPodResources,
      ...(deps.showsDevices ? { devices: (...of) => allocatedResources(deps, ...of) } : {}),
    },
  );
}

/** Devices of plugins first, then those of claims. */
function allocatedResources(
  { devices, resourceClaims }: Subsystems,
  ...of: readonly [PodUid, string]
): readonly ResourceStatus[] | undefined {
  const held = devices.allocatedResources(...of) ?? [];
  const claimed = resourceClaims.allocatedResources(...of);
  return held.length + claimed.length === 0 ? undefined : [...held, ...claimed];
}

/** An agent that is being restarted keeps its pods; one that only stops pods does not wait for that. */
const GONE_MS = 60_000;

function foreignPods(
  { keepOrphans }: PipelineOptions,
  pods: Pods,
  { outside, neighbors }: PipelineDeps,
): ForeignPods {
  return new ForeignPods({
    clock: outside.clock,
    log: outside.log.child("pods"),
    pods,
    ...(neighbors.canDetect ? { ownersOf: (uids) => neighbors.ownersOf(uids) } : {}),
    goneMs: keepOrphans ? 0 : GONE_MS,
  });
}

function openSources(
  options: PipelineOptions,
  { pods, foreign }: Pick<Pipeline, "pods" | "foreign">,
  deps: PipelineDeps,
): Sources {
  const { scope, outside } = deps;
  const { clock, log, host, net } = outside;
  return new Sources(options.sources, {
    files: host.files,
    podFiles: host.podFiles,
    net,
    clock,
    scope,
    log: log.child("sources"),
    onDesired: (desired) => {
      foreign.claim(desired.uid);
      acceptDesired(pods, desired, deps);
    },
    onUndesired: (uid, graceSeconds) =>
      pods.accept({
        kind: "removed",
        uid,
        ...(graceSeconds === undefined ? {} : { graceSeconds }),
      }),
    isKnown: (uid) => pods.knows(uid),
    events: deps.events,
  });
}

function acceptDesired(
  pods: Pods,
  { uid, pod, source }: DesiredPod,
  { events, nodeInfo }: PipelineDeps,
): void {
  const before = pods.get(uid)?.desired.pod;
  recordMissingFeatures(events, { before, now: pod }, nodeInfo().declaredFeatures);
  pods.accept({ kind: "desired", uid, pod, source });
}

/** Lists the runtime first, then starts the sources: nothing is started or ended before both were seen. */
export async function startPipeline(pipeline: Pipeline, deps: PipelineDeps): Promise<void> {
  const { pods, flight, statuses, foreign, sources, ledger } = pipeline;
  await statuses.open();
  await ledger.open();
  const found = await listUntilAnswered(deps);
  deps.devices.adopt(found.filter((pod) => pod.kind === "observed"));
  foreign.take(found);
  await foreign.judge();
  foreign.follow(deps.scope);
  const onSeen = () => {
    pods.sourcesSeen();
    statuses.dropUnclaimed((uid) => pods.knows(uid));
    ledger.dropUnclaimed((uid) => pods.knows(uid as PodUid));
    deps.resourceClaims.sourcesSeen();
    deps.devices.sourcesSeen((uid) => pods.knows(uid));
    deps.cpus.sourcesSeen((uid) => pods.knows(uid));
    deps.memory.sourcesSeen((uid) => pods.knows(uid));
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
  deps.scope.spawn("flight recorder", "restart", (signal) => flight.forgetOld(signal));
  deps.scope.defer(
    "health of the runtime",
    deps.runtime.watch.health.subscribe(() => pods.replan()),
  );
  deps.scope.defer("statuses", () => statuses.flush());
  deps.scope.defer("allocations", () => ledger.flush());
}

/** Pause before the runtime is listed again after it could not be at start. */
const FIRST_LIST_RETRY_MS = 1_000;

/** Nothing may be decided before it is known what runs, however long the runtime takes to list it. */
async function listUntilAnswered({
  runtime,
  outside,
  scope,
}: PipelineDeps): Promise<readonly FoundPod[]> {
  for (;;) {
    try {
      return await runtime.watch.listOnce(scope.signal);
    } catch (error) {
      if (scope.signal.aborted) throw error;
      outside.log.warn("waiting for the container runtime to list its pods", {
        error,
      });
      await outside.clock.sleep(FIRST_LIST_RETRY_MS, scope.signal);
    }
  }
}

function planContext(
  options: PipelineOptions,
  deps: PipelineDeps,
): ReturnType<ConstructorParameters<typeof Pods>[1]["context"]> {
  const health = deps.runtime.watch.health.get();
  return {
    restartBackoff: {
      initialMs: options.initialRestartBackoffMs,
      maxMs: options.maxRestartBackoffMs,
    },
    keptDead: keptDead(options.deadContainers, deps.podFacts.values()),
    syncMs: options.syncMs,
    runtimeReady: health.ready,
    network: { ready: health.networkReady, message: health.networkProblem },
  };
}

function watchProbes(record: PodRecord, { probes, hostIps }: PipelineDeps): void {
  const desired = probeTargets(record, hostIps()[0]);
  if (desired) probes.watch(desired, desired.containers);
  else probes.forget(record.uid);
}
