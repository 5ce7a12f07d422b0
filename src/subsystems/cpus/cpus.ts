/**
 * CPUs that containers have for themselves (CPU manager). Owns: which container has which CPUs, and its file. In: pods that
 * request whole CPUs, the machine's topology, the end of pods. Out: hints and grants for the topology of admission, cpusets for
 * the runtime. Invariants: no CPU has two owners, and none of them is in the shared pool; a grant is on disk, and who shared its
 * CPUs was asked off them, before its pod may start; a pod keeps its CPUs until it was seen ended.
 *
 *     const cpus = new ExclusiveCpus({ policy, file, retryMs }, deps);
 *     await cpus.start();
 *     const verdict = await cpus.grant(pod, placement);
 *     cpus.cpusetFor(pod, "db"); // "2-3"
 */
import { makeDecision } from "../../api/decisions.ts";
import { nodesOf } from "../../api/node/numa.ts";
import type { PodUid } from "../../api/observation.ts";
import { allContainers, podDisplayName } from "../../api/pod/pod.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { hasPodAmounts } from "../../api/pod-level.ts";
import { type Decisions, podSubject } from "../../api/ports/decisions.ts";
import type { HintDraft, HintProvider, NumaPlacement } from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";
import { type CpuMeasures, cpuMeasures } from "./cpu-measures.ts";
import { type CpuMachine, type CpuReport, reportCpus } from "./cpu-report.ts";
import { type CpuState, sortedCpus, withoutPod } from "./cpu-state.ts";
import { CpuStore } from "./cpu-store.ts";
import { Cpusets } from "./cpusets.ts";
import { freshState, misfitOf } from "./initial-state.ts";
import { cpuDraftOf } from "./pod-cpu-draft.ts";
import { withPodAsBefore } from "./resize-cpus.ts";
import { exclusiveRequests, type StaticPolicy } from "./static-policy.ts";
import { wholePodOf } from "./whole-pod.ts";

export type { CpuReport, ReportedCpu } from "./cpu-report.ts";
export { PlannedCpus } from "./planned-cpus.ts";
export { staticPolicyOf } from "./policy-of.ts";

/** Settings of the module. */
interface CpusOptions {
  /** `undefined` with the policy `none`: all containers share all CPUs. */
  readonly policy: StaticPolicy | undefined;
  /** Where the state is kept. */
  readonly file: string;
  /** `cpuManagerReconcilePeriod` */
  readonly retryMs: number;
}

interface CpusDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly pods: PodFacts;
  readonly decisions: Pick<Decisions, "record">;
  /** Reads what the machine is now. */
  readonly machine: () => CpuMachine;
  /** Lets a container that runs use these CPUs only. */
  readonly update: (containerId: string, cpus: string, signal: AbortSignal) => Promise<void>;
}

/** How long a grant waits until other containers are off its CPUs: a runtime that does not answer must not stop admission. */
const MOVE_MS = 2_000;
/** How soon a pod is asked about again whose CPUs could not be written down. */
const RETRY_MS = 5_000;
const GRANTED: ResourceGrant = { kind: "granted" };
const NOTHING: CpuState = { shared: [], pods: new Map() };

/** The module; see above. */
export class ExclusiveCpus implements HintProvider {
  readonly #policy: StaticPolicy | undefined;
  readonly #deps: CpusDeps;
  readonly #store: CpuStore;
  readonly #cpusets: Cpusets;
  readonly #measures: CpuMeasures;
  /** Pods that run, and the state in which there was nothing for them. */
  readonly #refusing = new WeakMap<IdentifiedPod, CpuState>();
  #state: CpuState;
  #sharedList = "";

  constructor({ policy, file, retryMs }: CpusOptions, deps: CpusDeps) {
    this.#policy = policy;
    this.#deps = deps;
    this.#state = policy ? freshState(policy) : NOTHING;
    this.#store = new CpuStore(file, deps.state, () => this.#state);
    const wanted = (uid: PodUid, container: string) => this.#cpusOf(uid, container);
    this.#cpusets = new Cpusets({ ...deps, wanted, retryMs });
    this.#measures = cpuMeasures(deps.metrics, policy, () => this.#state);
  }

  /** Reads who had which CPUs in a previous run. Throws `UsageError` when that does not fit machine or configuration. */
  async start(): Promise<void> {
    const policy = this.#policy;
    const kept = await this.#store.load(policy ? "static" : "none");
    if (!policy) return;
    const misfit = kept && misfitOf(policy, kept);
    if (misfit !== undefined) throw this.#store.unusable(misfit);
    const isEmpty = kept === undefined || (kept.shared.length === 0 && kept.pods.size === 0);
    this.#set(isEmpty ? freshState(policy) : kept);
    this.#store.save();
    this.#cpusets.follow();
  }

  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined {
    if (!this.#policy) return undefined;
    const draft = cpuDraftOf(this.#policy, this.#state, pod, only);
    return draft?.containers.size === 0 ? undefined : draft;
  }

  get resizes(): boolean {
    return this.#policy?.resizes ?? false;
  }

  /** CPUs for all containers of the pod, or none. */
  async grant(pod: IdentifiedPod, placement: NumaPlacement): Promise<ResourceGrant> {
    if (!this.#policy) return GRANTED;
    const before = this.#state;
    const { uid } = pod.metadata;
    const draft = cpuDraftOf(this.#policy, before, pod);
    if (!draft) return GRANTED;
    for (const container of draft.taking) {
      this.#measures.requested();
      const refusal = draft.take(container, placement.get(container));
      if (refusal) {
        this.#measures.refused(draft.source);
        return refusal;
      }
    }
    if (draft.state === before) return GRANTED;
    this.#set(draft.state);
    try {
      await this.#store.saved();
    } catch (error) {
      this.#set(withPodAsBefore(this.#state, before, uid));
      const message = `failed to write the CPU manager's state: ${messageOf(error)}`;
      return { kind: "deferred", reason: "WaitingForCPUs", message, retryInMs: RETRY_MS };
    }
    this.#note(pod, before, placement);
    const { clock, scope } = this.#deps;
    await Promise.race([this.#cpusets.apply(), clock.sleep(MOVE_MS, scope.signal).catch(() => {})]);
    return GRANTED;
  }

  /** Follows a pod's life; called with every observation. Cheap for pods without CPUs of their own. */
  observe({ uid, pod, known, ended, running }: ObservedCpuPod): void {
    if (ended) this.#release(uid, pod, "the pod has ended");
    else if (known && running.size > 0 && !this.#state.pods.has(uid)) this.#grantRunning(pod);
  }

  /** Every source has been seen: CPUs of unknown pods are free. */
  sourcesSeen(isKnown: (uid: PodUid) => boolean): void {
    for (const uid of [...this.#state.pods.keys()])
      if (!isKnown(uid)) this.#release(uid, undefined, "the pod is gone");
  }

  /**
   * Whether the container, or any of the pod, has CPUs for itself. Of a pod with amounts as a whole all containers must have some,
   * and those that share a part of the pod's have none.
   */
  isExclusive(uid: PodUid, container?: string): boolean {
    const held = this.#state.pods.get(uid);
    if (!held) return false;
    const pod = this.#deps.pods.get(uid)?.pod;
    if (!pod || !hasPodAmounts(pod)) return container === undefined ? true : held.has(container);
    const own = new Set(exclusiveRequests(pod).map((request) => request.container));
    if (container !== undefined) return own.has(container) && held.has(container);
    return allContainers(pod).every(({ container: { name }, kind }) =>
      kind === "ephemeral" ? true : own.has(name) && held.has(name),
    );
  }

  /** List of the CPUs that a container that is made now may use; empty for all. */
  cpusetFor({ metadata: { uid } }: IdentifiedPod, container: string): string {
    if (!this.#policy) return "";
    const cpus = this.#cpusOf(uid, container);
    this.#cpusets.made(uid, container, cpus);
    return cpus;
  }

  /** Who has which CPUs, and which may be given, for the pod resources API. */
  readonly held = {
    heldBy: ({ metadata: { uid } }: IdentifiedPod) =>
      new Map(
        [...(this.#state.pods.get(uid) ?? [])]
          .filter(([container]) => this.isExclusive(uid, container))
          .map(([container, cpus]) => [container, { cpuIds: cpus.map(BigInt) }]),
      ),
    heldAsWhole: ({ metadata: { uid } }: IdentifiedPod) => ({
      cpuIds: (this.#state.wholePods?.get(uid) ?? []).map(BigInt),
    }),
    allocatable: () => {
      const kept = new Set(this.#policy?.reserved);
      const all = [...(this.#policy?.units.cpus.keys() ?? [])];
      return { cpuIds: all.filter((cpu) => !kept.has(cpu)).map(BigInt) };
    },
  };

  /** All CPUs and who has them, at this moment. */
  report(): CpuReport {
    const { machine, pods } = this.#deps;
    const nameOf = (uid: PodUid) => pods.get(uid)?.pod.metadata;
    return reportCpus({ machine: machine(), policy: this.#policy, state: this.#state, nameOf });
  }

  #cpusOf(uid: PodUid, container: string): string {
    const own = this.#state.pods.get(uid)?.get(container);
    return own ? formatCpuList(own) : this.#sharedList;
  }

  #release(uid: PodUid, pod: IdentifiedPod | undefined, why: string): void {
    const held = this.#state.pods.get(uid);
    if (!held) return;
    this.#set(withoutPod(this.#state, uid));
    this.#store.save();
    this.#deps.log.info("CPUs are shared again", { uid, why });
    if (pod) {
      const cpus = formatCpuList(sortedCpus([...held.values()].flat()));
      const released = makeDecision("releaseCpus", why, { cpus });
      this.#deps.decisions.record(podSubject(pod), released);
    }
    void this.#cpusets.apply();
  }

  /** A pod that was admitted before there was a policy, or whose entry was lost with the file. */
  #grantRunning(pod: IdentifiedPod): void {
    const before = this.#state;
    if (!this.#policy || this.#refusing.get(pod) === before) return;
    const draft = cpuDraftOf(this.#policy, before, pod);
    if (!draft) return;
    const { log } = this.#deps;
    for (const container of draft.taking) {
      const refusal = draft.take(container, undefined);
      if (!refusal) continue;
      this.#refusing.set(pod, before);
      const { message } = refusal;
      log.warn("a pod runs without CPUs of its own", { pod: podDisplayName(pod), message });
      return;
    }
    log.warn("a pod runs that was given no CPUs of its own", { pod: podDisplayName(pod) });
    this.#set(draft.state);
    this.#store.save();
    this.#note(pod, before, new Map());
    void this.#cpusets.apply();
  }

  #note(pod: IdentifiedPod, before: CpuState, placement: NumaPlacement): void {
    const { uid } = pod.metadata;
    const whole = this.#state.wholePods?.get(uid);
    const own = new Set(exclusiveRequests(pod).map((request) => request.container));
    if (!before.wholePods?.has(uid)) this.#countWhole(pod);
    for (const [container, cpus] of this.#state.pods.get(uid) ?? []) {
      if (before.pods.get(uid)?.get(container)?.join() === cpus.join()) continue;
      if (own.has(container)) this.#measures.granted(cpus, whole ? "pod" : "node");
      const mask = placement.get(container);
      const nodes =
        mask === undefined ? undefined : formatCpuList(nodesOf(mask, this.#policy?.nodes ?? []));
      const granted = makeDecision("grantCpus", nodes === undefined ? "free" : "close together", {
        container,
        cpus: formatCpuList(cpus),
        ...(whole ? { ofPod: formatCpuList(whole) } : {}),
        ...(own.has(container) ? {} : { shares: true }),
        ...(nodes === undefined ? {} : { nodes }),
      });
      this.#deps.decisions.record(podSubject(pod), granted);
    }
  }

  #countWhole(pod: IdentifiedPod): void {
    if (!this.#state.wholePods?.has(pod.metadata.uid)) return;
    this.#measures.ofPod((wholePodOf(pod)?.members ?? []).map(({ count }) => count > 0));
  }

  #set(state: CpuState): void {
    this.#state = state;
    this.#sharedList = formatCpuList(state.shared);
  }
}

/** A pod as the pipeline sees it. */
interface ObservedCpuPod {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  /** Whether its spec comes from a source. */
  readonly known: boolean;
  /** Whether all of it was seen ended for good. */
  readonly ended: boolean;
  /** Containers with a living process. */
  readonly running: ReadonlySet<string>;
}
