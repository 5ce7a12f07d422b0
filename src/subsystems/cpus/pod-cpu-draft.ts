// pure
import { type NodeMask, nodesOf } from "../../api/node/numa.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { hasPodAmounts } from "../../api/pod-level.ts";
import type { Hints, Unmet } from "../../api/ports/hint-provider.ts";
import { CpuDraft, type PodCpuDraft } from "./cpu-draft.ts";
import { cpuHints } from "./cpu-hints.ts";
import type { CpuState } from "./cpu-state.ts";
import { type CpuRefusal, cpuRequests, givableCpus, type StaticPolicy } from "./static-policy.ts";
import { assignWholePod, emptyPool, wholePodOf } from "./whole-pod.ts";

/** Of the pod, or `only` of one of its containers; `undefined` when nothing of it has CPUs for itself. */
export function cpuDraftOf(
  policy: StaticPolicy,
  state: CpuState,
  pod: IdentifiedPod,
  only?: string,
): PodCpuDraft | undefined {
  if (policy.podLevel === "pod" && hasPodAmounts(pod))
    return wholePodOf(pod) && new WholePodDraft(policy, state, pod, only);
  const isHeld = policy.resizes && state.pods.has(pod.metadata.uid);
  if (!isHeld && cpuRequests(pod, policy).length === 0) return undefined;
  return new CpuDraft(policy, state, pod, only);
}

/** Of a pod that has its CPUs as a whole: the first container takes them for all. */
class WholePodDraft implements PodCpuDraft {
  readonly source = "pod";
  readonly containers: ReadonlySet<string>;
  readonly #policy: StaticPolicy;
  readonly #pod: IdentifiedPod;
  #state: CpuState;

  constructor(policy: StaticPolicy, state: CpuState, pod: IdentifiedPod, only?: string) {
    this.#policy = policy;
    this.#pod = pod;
    this.#state = state;
    const names = wholePodOf(pod)?.members.map(({ name }) => name) ?? [];
    this.containers = new Set(names.filter((name) => only === undefined || name === only));
  }

  get state(): CpuState {
    return this.#state;
  }

  get taking(): Iterable<string> {
    return [...this.containers].slice(0, 1);
  }

  /** Hints are asked for the pod only, by the scope. */
  hints(): readonly Hints[] {
    return this.podHints();
  }

  podHints(): readonly Hints[] {
    const whole = wholePodOf(this.#pod);
    if (!whole) return [];
    const held = this.#state.wholePods?.get(this.#pod.metadata.uid);
    const { count } = whole;
    if (held) return [cpuHints(this.#policy, { count, available: held, reusable: [] })];
    if (emptyPool(whole)) return [[]];
    const available = givableCpus(this.#policy, this.#state);
    return [cpuHints(this.#policy, { count, available, reusable: [] })];
  }

  place(container: string, mask: NodeMask | undefined): Unmet | undefined {
    return this.take(container, mask) ? "refused" : undefined;
  }

  take(_container: string, mask: NodeMask | undefined): CpuRefusal | undefined {
    const nodes = mask === undefined ? undefined : nodesOf(mask, this.#policy.nodes);
    const assigned = assignWholePod(this.#policy, this.#state, { pod: this.#pod, nodes });
    if (assigned.kind === "refused") return assigned;
    this.#state = assigned.state;
    return undefined;
  }
}
