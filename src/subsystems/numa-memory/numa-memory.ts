/**
 * Memory of NUMA nodes. Owns: which container was assigned memory of which nodes, in memory and, in the Go kubelet's format, on
 * disk. In: guaranteed pods that are admitted, what became of them. Out: nodes for each container, hints for the topology
 * manager. Invariants: no byte is assigned twice; what is assigned is on disk before its pod may start; with policy None nothing is
 * done for any pod.
 * Example: `await memory.start(); await memory.grant(pod, placement, preferred);`, then `memory.nodesFor(pod, container)`.
 */

import { type AllocationCounts, allocationCounts } from "../../api/metrics/allocation-counts.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { PodUid } from "../../api/observation.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type {
  HintDraft,
  HintProvider,
  NumaPlacement,
  PreferredContainers,
} from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import { UsageError } from "../../kit/errors.ts";
import { SerialQueue } from "../../kit/limits/serial-queue.ts";
import type { Log } from "../../kit/log.ts";
import type { Counter, MetricsRegistry } from "../../kit/metrics.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import type {
  AllocatableResourcesResponse,
  ContainerMemory,
} from "../../outside/plugins/plugins.ts";
import {
  type AssignedPod,
  assignContainer,
  initsBefore,
  type NodePreference,
} from "./assign-memory.ts";
import { encodeMemory, type KeptMemory, parseMemory } from "./memory-checkpoint.ts";
import { MemoryDraft } from "./memory-draft.ts";
import { type MemoryRequest, memoryRequests, type PodLevelMemory } from "./memory-requests.ts";
import {
  blocksOf,
  emptyState,
  type MemoryBlock,
  type MemoryState,
  type NumaCapacity,
  releaseBlocks,
  releasePod,
} from "./memory-state.ts";
import { continueMemory } from "./validate-memory.ts";
import {
  assignWholeMemory,
  type MemoryRefusal,
  memoryToAssign,
  WholeMemoryDraft,
  wholeMemoryOf,
} from "./whole-pod-memory.ts";

export { configuredNodes } from "./configured-nodes.ts";
export { PlannedMemory } from "./planned-memory.ts";

/** Settings of the module. */
export interface NumaMemoryOptions {
  /** The nodes of policy Static; absent with policy None. */
  readonly nodes: readonly NumaCapacity[] | undefined;
  /** Path of the state file. */
  readonly file: string;
  /** Whether memory follows a change in place. */
  readonly resizes?: boolean;
  /** What pods with amounts as a whole are assigned; absent: nothing. */
  readonly podLevel?: PodLevelMemory;
}

interface NumaMemoryDeps {
  readonly state: StateFiles;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

/** A pod as the pipeline sees it. */
interface ObservedMemoryPod {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  /** Whether its spec comes from a source. */
  readonly known: boolean;
  /** Whether all of it was seen ended for good. */
  readonly ended: boolean;
  /** Containers with a living process. */
  readonly running: ReadonlySet<string>;
}

const MODE = 0o600;
/** Largest file that is read back. */
const MAX_BYTES = 16 * 1024 * 1024;
const GRANTED: ResourceGrant = { kind: "granted" };
const NOTHING: MemoryState = { nodes: new Map(), pods: new Map() };

/** The memory manager; see above. */
export class NumaMemory implements HintProvider {
  readonly resizes: boolean;
  readonly #podLevel: PodLevelMemory;
  readonly #deps: NumaMemoryDeps;
  readonly #empty: MemoryState | undefined;
  readonly #file: StateFile;
  readonly #writes = new SerialQueue();
  readonly #requested: Counter;
  readonly #failed: Counter;
  readonly #counts: AllocationCounts;
  /** Pods that run and whose memory was seen to, while they are there. */
  readonly #seen = new Set<PodUid>();
  #state: MemoryState;

  constructor({ nodes, file, resizes = false, podLevel }: NumaMemoryOptions, deps: NumaMemoryDeps) {
    this.#deps = deps;
    this.#podLevel = podLevel;
    this.resizes = resizes && nodes !== undefined;
    this.#empty = nodes && emptyState(nodes);
    this.#state = this.#empty ?? NOTHING;
    const name = "memory_manager_state";
    this.#file = { name, path: file, holds: "memory assigned to containers", important: true };
    this.#requested = deps.metrics.counter(METRICS.kubelet_memory_manager_pinning_requests_total);
    this.#failed = deps.metrics.counter(METRICS.kubelet_memory_manager_pinning_errors_total);
    this.#counts = allocationCounts(deps.metrics, "memory", podLevel !== undefined);
  }

  /** Continues what a previous run assigned. Throws `UsageError` where that cannot be kept with these settings on this machine. */
  async start(): Promise<void> {
    const kept = await this.#deps.state.read(this.#file, MAX_BYTES, parseMemory);
    if (kept) this.#state = this.#continued(kept);
    if (this.#empty) await this.#save();
  }

  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined {
    if (!this.#empty) return undefined;
    const { whole, requests } = memoryToAssign(pod, this.#podLevel);
    if (whole) return new WholeMemoryDraft(this.#state, pod, whole);
    const isAsked = requests.some(({ container }) => only === undefined || container === only);
    const { uid } = pod.metadata;
    return isAsked
      ? new MemoryDraft({ state: this.#state, uid, resizes: this.resizes }, requests)
      : undefined;
  }

  /** Assigns all containers of the pod their memory, or says why not; those that have it keep it. */
  async grant(
    pod: IdentifiedPod,
    placement: NumaPlacement,
    preferred: PreferredContainers,
  ): Promise<ResourceGrant> {
    if (!this.#empty) return GRANTED;
    const before = this.#state;
    const { whole, requests } = memoryToAssign(pod, this.#podLevel);
    if (whole) {
      const first = whole.members[0]?.name ?? "";
      const wanted = { mask: placement.get(first), preferred: preferred.has(first) };
      const refusal = this.#assignWhole(pod, wanted);
      if (refusal) return refusal;
      if (this.#state !== before) await this.#save();
      return GRANTED;
    }
    if (requests.length === 0) return GRANTED;
    const short = this.#assign(pod.metadata.uid, requests, (container) => ({
      mask: placement.get(container),
      preferred: preferred.has(container),
    }));
    if (short !== undefined)
      return {
        kind: "refused",
        reason: "UnexpectedAdmissionError",
        message: `Allocate failed due to ${short}, which is unexpected`,
      };
    if (this.#state !== before) await this.#save();
    return GRANTED;
  }

  /** Follows a pod's life; called with every observation. Free of cost with policy None. */
  observe({ uid, pod, known, ended, running }: ObservedMemoryPod): void {
    if (!this.#empty) return;
    if (ended) {
      this.#seen.delete(uid);
      this.#replace(releasePod(this.#state, uid));
    } else if (known && running.size > 0 && !this.#seen.has(uid)) {
      this.#seen.add(uid);
      if (!this.#state.pods.has(uid)) this.#assignRunning(pod);
    }
  }

  /** Every source has been seen: memory of unknown pods is free. */
  sourcesSeen(isKnown: (podUid: PodUid) => boolean): void {
    let state = this.#state;
    for (const uid of state.pods.keys())
      if (!isKnown(uid as PodUid)) state = releasePod(state, uid);
    this.#replace(state);
  }

  /**
   * The nodes whose memory a container that is about to be made may use, as `0,1`; `undefined` for any. Init containers before it are
   * done: what only they have is free. One of these that is made once more stays on the nodes of its pod.
   */
  nodesFor(pod: IdentifiedPod, container: string): string | undefined {
    if (!this.#empty) return undefined;
    const { uid } = pod.metadata;
    const held = this.#state.pods.get(uid);
    if (!held) return undefined;
    const whole = this.#state.wholePods?.get(uid);
    if (whole && held.has(container)) return listOf(whole);
    const { requests } = memoryToAssign(pod, this.#podLevel);
    if (!requests.some((each) => each.container === container)) return undefined;
    const own = blocksOf(this.#state, uid, container);
    if (own.length > 0)
      this.#replace(releaseBlocks(this.#state, uid, initsBefore(requests, container)));
    return listOf(own.length > 0 ? own : [...held.values()].flat());
  }

  /** Who has which memory, and how much there is, for the pod resources API. */
  readonly held = {
    heldBy: (pod: IdentifiedPod): ReadonlyMap<string, { readonly memory: ContainerMemory[] }> =>
      new Map(
        this.#ownBlocks(pod).map(([container, blocks]) => [
          container,
          { memory: blocks.map(({ type, size, nodes }) => shownMemory(type, size, nodes)) },
        ]),
      ),
    heldAsWhole: ({
      metadata: { uid },
    }: IdentifiedPod): { readonly memory: ContainerMemory[] } => ({
      memory: (this.#state.wholePods?.get(uid) ?? []).map(({ type, size, nodes }) =>
        shownMemory(type, size, nodes),
      ),
    }),
    allocatable: (): Partial<AllocatableResourcesResponse> =>
      this.#empty
        ? {
            memory: [...this.#state.nodes].flatMap(([id, { memory }]) =>
              [...memory]
                .filter(([, { allocatable }]) => allocatable > 0)
                .map(([type, { allocatable }]) => shownMemory(type, allocatable, [id])),
            ),
          }
        : {},
  };

  #continued(kept: KeptMemory): MemoryState {
    const policy = this.#empty ? "Static" : "None";
    if (kept.policy !== policy)
      throw this.#refusal(
        `[memorymanager] configured policy "${policy}" differs from state checkpoint policy "${kept.policy}"`,
      );
    if (!this.#empty) return NOTHING;
    const result = continueMemory(kept, this.#empty);
    if (result.kind === "refused") throw this.#refusal(result.why);
    return result.state;
  }

  #refusal(why: string): UsageError {
    return new UsageError(
      `could not restore state from checkpoint: ${why}, please drain this node and delete the memory manager checkpoint file "${this.#file.path}" before restarting Kubelet`,
    );
  }

  /** Assigns all or nothing; why not, where it cannot. */
  #assign(
    uid: PodUid,
    requests: readonly MemoryRequest[],
    wanted: (container: string) => Parameters<typeof assignContainer>[3],
  ): string | undefined {
    const { resizes } = this;
    let assigned: AssignedPod = { state: this.#state, uid, resizes, reusable: new Map() };
    for (const request of requests) {
      this.#requested.add();
      const outcome = assignContainer(assigned, requests, request, wanted(request.container));
      if (outcome.kind === "short") {
        this.#failed.add();
        this.#counts.failed("node");
        return outcome.message;
      }
      assigned = outcome.pod;
    }
    const held = this.#state.pods.get(uid);
    for (const { container, amounts } of requests)
      if (!held?.has(container)) this.#counts.ofNode(amounts.size);
    this.#state = assigned.state;
    return undefined;
  }

  /** A pod that was admitted before there was a policy, or whose file was lost: its containers use the nodes when they start again. */
  #assignRunning(pod: IdentifiedPod): void {
    const { whole, requests } = memoryToAssign(pod, this.#podLevel);
    if (!whole && requests.length === 0) return;
    const lasting = requests.filter(({ kind }) => kind !== "init");
    const anywhere = { mask: undefined, preferred: false };
    const short = whole
      ? this.#assignWhole(pod, anywhere)?.message
      : this.#assign(pod.metadata.uid, lasting, () => anywhere);
    const report = { pod: podDisplayName(pod), ...(short === undefined ? {} : { short }) };
    this.#deps.log.warn("a pod runs that was assigned no memory of NUMA nodes", report);
    if (short === undefined) void this.#save();
  }

  /** Assigns a pod its memory as a whole; why not, where it cannot. */
  #assignWhole(pod: IdentifiedPod, wanted: NodePreference): MemoryRefusal | undefined {
    this.#requested.add();
    const outcome = assignWholeMemory(this.#state, pod, wanted);
    if (outcome.kind === "refused") {
      this.#failed.add();
      this.#counts.failed("pod");
      return outcome;
    }
    if (outcome.state !== this.#state)
      this.#counts.ofPod((wholeMemoryOf(pod)?.members ?? []).map(({ amounts }) => !!amounts));
    this.#state = outcome.state;
    return undefined;
  }

  /** Blocks of containers that do not share them. */
  #ownBlocks(pod: IdentifiedPod): readonly (readonly [string, readonly MemoryBlock[]])[] {
    const { uid } = pod.metadata;
    const held = [...(this.#state.pods.get(uid) ?? [])];
    if (!this.#state.wholePods?.has(uid)) return held;
    const own = new Set(memoryRequests(pod, "pod").map(({ container }) => container));
    return held.filter(([container]) => own.has(container));
  }

  #replace(state: MemoryState): void {
    if (state === this.#state) return;
    this.#state = state;
    void this.#save();
  }

  /** Resolves when everything as it is now is on disk; a failure is reported, and tried again, by the state files. */
  async #save(): Promise<void> {
    const write = () => {
      const text = encodeMemory({ policy: "Static", ...this.#state });
      return this.#deps.state.write(this.#file, text, MODE);
    };
    await this.#writes.run(write).catch(() => {});
  }
}

/** The nodes of the blocks, as `0,1`. */
function listOf(blocks: readonly MemoryBlock[]): string {
  const nodes = new Set(blocks.flatMap((block) => block.nodes));
  return [...nodes].sort((a, b) => a - b).join(",");
}

function shownMemory(memoryType: string, size: number, nodes: readonly number[]): ContainerMemory {
  return {
    memoryType,
    size: BigInt(size),
    topology: { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
  };
}
