// pure
import { type NodeMask, nodesOf } from "../../api/node/numa.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { HintDraft, Hints, Unmet } from "../../api/ports/hint-provider.ts";
import { cpuHints } from "./cpu-hints.ts";
import type { CpuState } from "./cpu-state.ts";
import { withoutContainers } from "./resize-cpus.ts";
import {
  assignCpus,
  type CpuRefusal,
  cpuRequests,
  givableCpus,
  podCpuCount,
  reusableCpus,
  type StaticPolicy,
} from "./static-policy.ts";

/** The CPUs of a pod while they are worked out: a state that nobody else sees. */
export interface PodCpuDraft extends HintDraft {
  /** Where its CPUs come from: the node for each container, or what the pod gets as a whole. */
  readonly source: "node" | "pod";
  /** What was worked out so far. */
  readonly state: CpuState;
  /** Containers for which CPUs are taken, one after the other; of a pod as a whole the first takes them for all. */
  readonly taking: Iterable<string>;
  /** Takes what the container requests, or says why it cannot have it. */
  take(container: string, mask: NodeMask | undefined): CpuRefusal | undefined;
}

/** CPUs of single containers, each by itself. */
export class CpuDraft implements PodCpuDraft {
  readonly source = "node";
  readonly containers: ReadonlySet<string>;
  readonly #policy: StaticPolicy;
  readonly #pod: IdentifiedPod;
  #state: CpuState;

  constructor(policy: StaticPolicy, state: CpuState, pod: IdentifiedPod, only?: string) {
    this.#policy = policy;
    this.#pod = pod;
    this.#state = policy.resizes ? withoutUnrequested(policy, state, pod) : state;
    const names = cpuRequests(pod, policy).map(({ container }) => container);
    this.containers = new Set(names.filter((name) => only === undefined || name === only));
  }

  get state(): CpuState {
    return this.#state;
  }

  get taking(): Iterable<string> {
    return this.containers;
  }

  hints(container: string): readonly Hints[] {
    const request = this.#requestOf(container);
    if (!request) return [];
    const { count } = request;
    const held = this.#held(container);
    if (held && held.length !== count) return [this.#resizedHints(held, count)];
    if (held) return [cpuHints(this.#policy, { count, available: held, reusable: [] })];
    const reusable = reusableCpus(this.#state, this.#pod, this.#requests);
    const available = givableCpus(this.#policy, this.#state);
    return [cpuHints(this.#policy, { count, available, reusable })];
  }

  podHints(): readonly Hints[] {
    const requests = this.#requests;
    if (requests.length === 0) return [];
    const held = requests.map(({ container }) => this.#held(container));
    const isOther = held.some((cpus, at) => cpus && cpus.length !== requests[at]?.count);
    if (isOther && !this.#policy.resizes) return [[]];
    const reusable = held.flatMap((cpus) => cpus ?? []);
    const count = podCpuCount(requests);
    if (isOther) return [this.#resizedHints(reusable, count)];
    const available = held.every((cpus) => cpus) ? [] : givableCpus(this.#policy, this.#state);
    return [cpuHints(this.#policy, { count, available, reusable })];
  }

  place(container: string, mask: NodeMask | undefined): Unmet | undefined {
    return this.take(container, mask) ? "refused" : undefined;
  }

  take(container: string, mask: NodeMask | undefined): CpuRefusal | undefined {
    const request = this.#requestOf(container);
    if (!request) return undefined;
    const nodes = mask === undefined ? undefined : nodesOf(mask, this.#policy.nodes);
    const assigned = assignCpus(this.#policy, this.#state, { pod: this.#pod, request, nodes });
    if (assigned.kind === "refused") return assigned;
    this.#state = assigned.state;
    return undefined;
  }

  /** Where it can have more beside what it has, or keep a part of that. */
  #resizedHints(held: readonly number[], count: number): Hints {
    if (!this.#policy.resizes) return [];
    if (count <= held.length)
      return cpuHints(this.#policy, { count, available: held, reusable: [] });
    const available = givableCpus(this.#policy, this.#state);
    return cpuHints(this.#policy, { count, available, reusable: held });
  }

  get #requests() {
    return cpuRequests(this.#pod, this.#policy);
  }

  #requestOf(container: string) {
    return this.#requests.find((request) => request.container === container);
  }

  #held(container: string): readonly number[] | undefined {
    return this.#state.pods.get(this.#pod.metadata.uid)?.get(container);
  }
}

function withoutUnrequested(policy: StaticPolicy, state: CpuState, pod: IdentifiedPod): CpuState {
  const { uid } = pod.metadata;
  const requested = new Set(cpuRequests(pod, policy).map(({ container }) => container));
  const held = [...(state.pods.get(uid)?.keys() ?? [])];
  return withoutContainers(
    state,
    uid,
    held.filter((name) => !requested.has(name)),
  );
}
