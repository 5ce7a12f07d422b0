// pure
/**
 * Plans the devices of a pod, all containers and resources at once: a plan to be reserved, or why there is none. No
 * plugin is called here, so that a pod whose last request cannot be met costs no plugin a call.
 */
import type { NodeMask } from "../../api/node/numa.ts";
import type { PodUid } from "../../api/observation.ts";
import type { HintDraft, Hints, NumaPlacement, Unmet } from "../../api/ports/hint-provider.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { type Choices, chooseDevices, type PreferenceQuestion } from "./choose.ts";
import { deviceHints } from "./device-hints.ts";
import type { Device, Inventory, ResourceRecord } from "./inventory.ts";
import { type HeldDevice, type Holding, holdingsOf, type Ledger } from "./ledger/ledger.ts";
import type { ContainerRequests, ResourceRequest } from "./requests.ts";

/** Everything a plan depends on. */
export interface PlanInputs {
  readonly podUid: PodUid;
  readonly requests: readonly ContainerRequests[];
  readonly inventory: Inventory;
  /** With what the pod surely keeps; what it only reserved is not in it. */
  readonly ledger: Ledger;
  /** Containers that run with unrecorded devices of a resource. */
  readonly unaccounted: (resource: string) => string | undefined;
  /** Only this container, of a pod that was admitted before: it keeps what it has. All when left out. */
  readonly only?: string | undefined;
  /** Answers of plugins to questions of earlier plans, by `stepKey`. */
  readonly preferences: ReadonlyMap<string, readonly string[]>;
  /** NUMA nodes that containers are to be close to. */
  readonly placement: NumaPlacement;
  /** NUMA nodes of the machine, ascending. */
  readonly numaNodes: readonly number[];
  /** Whether a resource that no plugin has ever offered here is to be waited for. */
  readonly expects: (resource: string) => boolean;
  readonly now: MonotonicMs;
  /** Until so long after a plugin connected its list may still be growing. */
  readonly settleMs: number;
}

/** Devices that one container shall get of one resource. */
export interface GrantStep {
  readonly container: string;
  readonly resource: string;
  readonly devices: readonly HeldDevice[];
  readonly question: PreferenceQuestion | undefined;
  readonly rule: string;
}

/** The pod's allocation, or why it gets none now. */
export type GrantPlan =
  | {
      readonly kind: "plan";
      /** Missing devices, in the order in which they are requested. */
      readonly steps: readonly GrantStep[];
    }
  | AllocationRefusal
  /** The plugin may still come, or name more devices. `otherwise` is the refusal when it does not. */
  | {
      readonly kind: "wait";
      readonly message: string;
      readonly otherwise: AllocationRefusal;
      /** Resource whose plugin is waited for; `undefined` when the reason is another. */
      readonly resource: string | undefined;
    };

/** A refusal with the Go kubelet's text. */
interface AllocationRefusal {
  readonly kind: "refused";
  readonly reason: "UnexpectedAdmissionError";
  readonly message: string;
}

/** Names what one container gets of one resource. */
export function stepKey(container: string, resource: string): string {
  return `${container} ${resource}`;
}

/** An error of the Go kubelet's device manager as its admission words it. */
export function refusal(error: string): AllocationRefusal {
  return {
    kind: "refused",
    reason: "UnexpectedAdmissionError",
    message: `Allocate failed due to ${error}, which is unexpected`,
  };
}

type Problem = Exclude<GrantPlan, { kind: "plan" }>;

/** Devices that the pod gets in addition. */
export function planGrants(inputs: PlanInputs): GrantPlan {
  const draft = new DeviceDraft(inputs);
  for (const container of draft.containers) {
    const problem = draft.take(container, inputs.placement.get(container));
    if (problem) return problem;
  }
  return { kind: "plan", steps: draft.steps };
}

/** Devices that the container still needs, or why it cannot get them. */
function judgeAll(
  requests: ContainerRequests,
  draft: DeviceDraft,
): readonly ResourceRequest[] | Problem {
  const needs: ResourceRequest[] = [];
  for (const request of requests.resources) {
    const verdict = judge(request, requests, draft);
    if (verdict.kind === "wait" || verdict.kind === "refused") return verdict;
    if (verdict.kind === "need") needs.push(request);
  }
  return needs;
}

type Verdict =
  /** No plugin provides the resource: another component handles it. */
  { readonly kind: "skip" } | { readonly kind: "have" } | { readonly kind: "need" } | Problem;

function judge(
  { resource, amount }: ResourceRequest,
  { container }: ContainerRequests,
  draft: DeviceDraft,
): Verdict {
  const { inventory, podUid, expects, only } = draft.inputs;
  const record = inventory.get(resource);
  const held = draft.heldBy(container, resource);
  if (held && held.length !== amount)
    return refusal(
      `pod "${podUid}" container "${container}" changed request for resource "${resource}" from ${held.length} to ${amount}`,
    );
  // Health counts at admission; a container that starts again is not to wait for what it has.
  if (held && only !== undefined) return { kind: "have" };
  if (!record) {
    if (!held && !draft.isKnown(resource) && !expects(resource)) return { kind: "skip" };
    return {
      kind: "wait",
      message: `waiting for the plugin of ${resource} to register`,
      otherwise: refusal(`cannot allocate unregistered device ${resource}`),
      resource,
    };
  }
  const unhealthy = judgeHealth(resource, record, { amount, held, draft });
  if (unhealthy) return unhealthy;
  return { kind: held ? "have" : "need" };
}

function judgeHealth(
  resource: string,
  { presence, devices }: ResourceRecord,
  about: {
    readonly amount: number;
    readonly held: readonly HeldDevice[] | undefined;
    readonly draft: DeviceDraft;
  },
): Verdict | undefined {
  const { now, settleMs } = about.draft.inputs;
  const otherwise = refusal(
    `no healthy devices present; cannot allocate unhealthy devices ${resource}`,
  );
  if (presence.kind === "gone")
    return {
      kind: "wait",
      message: `waiting for the plugin of ${resource} to register again`,
      otherwise,
      resource,
    };
  if (presence.list !== "current")
    return {
      kind: "wait",
      message: `waiting for the plugin of ${resource} to list its devices`,
      otherwise,
      resource,
    };
  const settling = now - presence.since < settleMs;
  const later = (message: string, refused: AllocationRefusal): Verdict =>
    settling ? { kind: "wait", message, otherwise: refused, resource } : refused;
  const healthy = healthyIds(devices);
  if (healthy.size === 0) return later(`waiting for a healthy device of ${resource}`, otherwise);
  if (about.held?.some(({ id }) => !healthy.has(id)))
    return later(
      `waiting for devices of ${resource} that the pod has to be healthy again`,
      refusal(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      ),
    );
  if (!about.held && settling && healthy.size < about.amount)
    return later(
      `waiting for the plugin of ${resource} to list ${about.amount} healthy devices, it has listed ${healthy.size}`,
      tooFew(resource, about.amount, healthy.size),
    );
  return undefined;
}

function tooFew(resource: string, amount: number, free: number): AllocationRefusal {
  return refusal(
    `requested number of devices unavailable for ${resource}. Requested: ${amount}, Available: ${free}`,
  );
}

const healthyIds = derivedOnce((devices: ReadonlyMap<string, Device>): ReadonlySet<string> => {
  const ids = new Set<string>();
  for (const device of devices.values()) if (device.healthy) ids.add(device.id);
  return ids;
});

/** Allocations of the pod while a plan is built. */
interface Share {
  readonly container: string;
  readonly kind: ContainerRequests["kind"];
  readonly order: number;
  readonly resource: string;
  readonly devices: readonly HeldDevice[];
}

/** The pod's shares so far, and what may still be taken. */
export class DeviceDraft implements HintDraft {
  readonly inputs: PlanInputs;
  readonly containers: ReadonlySet<string>;
  /** Devices taken so far. */
  readonly steps: GrantStep[] = [];
  readonly #shares: Share[];

  constructor(inputs: PlanInputs) {
    const { requests, only } = inputs;
    const names = requests.map(({ container }) => container);
    this.inputs = inputs;
    this.containers = new Set(names.filter((name) => only === undefined || name === only));
    this.#shares = holdingsOf(inputs.ledger, inputs.podUid).map((holding) =>
      shareOf(holding, inputs.requests),
    );
  }

  heldBy(container: string, resource: string): readonly HeldDevice[] | undefined {
    return this.#shares.find(
      (share) => share.container === container && share.resource === resource,
    )?.devices;
  }

  hints(container: string): readonly Hints[] | Unmet {
    const requests = this.#requestsOf(container);
    return this.#hintsUnlessUnmet(requests, () =>
      requests.resources.map((request) => this.#hintsFor(request, requests)),
    );
  }

  /** The pod's resources are hinted at as if one container asked for them. */
  podHints(): readonly Hints[] | Unmet {
    const { requests } = this.inputs;
    const [first = ""] = this.containers;
    const whole = { container: "", kind: "init", order: requests.length, resources: [] } as const;
    return this.#hintsUnlessUnmet(this.#requestsOf(first), () =>
      [...podAmounts(requests)].map(([resource, amount]) =>
        this.#hintsFor({ resource, amount }, whole),
      ),
    );
  }

  place(container: string, mask: NodeMask | undefined): Unmet | undefined {
    const problem = this.containers.has(container) ? this.take(container, mask) : undefined;
    return problem && unmet(problem);
  }

  /** Takes what the container needs, or says why it cannot have it. */
  take(container: string, mask: NodeMask | undefined): Problem | undefined {
    const requests = this.#requestsOf(container);
    const needs = judgeAll(requests, this);
    if ("kind" in needs) return needs;
    for (const request of needs) {
      const step = this.#choose(request, requests, mask);
      if ("kind" in step) return step;
      this.steps.push(step);
    }
    return undefined;
  }

  #requestsOf(container: string): ContainerRequests {
    const found = this.inputs.requests.find((requests) => requests.container === container);
    return found ?? { container, kind: "regular", order: 0, resources: [] };
  }

  #hintsUnlessUnmet(
    requests: ContainerRequests,
    hints: () => readonly Hints[],
  ): readonly Hints[] | Unmet {
    const needs = judgeAll(requests, this);
    if ("kind" in needs) return unmet(needs);
    // Nothing is to be placed; where devices are that are not listed any more cannot be known.
    return this.inputs.only !== undefined && needs.length === 0 ? [] : hints();
  }

  #hintsFor(request: ResourceRequest, requests: ContainerRequests): Hints {
    const { inventory, numaNodes } = this.inputs;
    if (!inventory.has(request.resource)) return "any";
    const choices = this.#choices(request, requests, undefined);
    const held = this.heldBy(requests.container, request.resource);
    if (!held) return deviceHints(choices, numaNodes);
    const available = new Set(held.map(({ id }) => id));
    return deviceHints({ ...choices, available, reusable: new Set() }, numaNodes);
  }

  /** Whether anybody has devices of the resource. */
  isKnown(resource: string): boolean {
    return this.inputs.ledger.owners.has(resource);
  }

  /** Devices available to a container; none of unregistered resources. */
  #choices(
    request: ResourceRequest,
    requests: ContainerRequests,
    near: NodeMask | undefined,
  ): Choices {
    const { inventory, ledger, numaNodes } = this.inputs;
    const devices = inventory.get(request.resource)?.devices ?? new Map<string, Device>();
    const owners = ledger.owners.get(request.resource);
    const own = new Set(
      this.#shares
        .filter(({ resource }) => resource === request.resource)
        .flatMap((share) => share.devices.map(({ id }) => id)),
    );
    const healthy = healthyIds(devices);
    const available = new Set([...healthy].filter((id) => !owners?.has(id) && !own.has(id)));
    const reusable = new Set(
      [...own].filter((id) => healthy.has(id) && this.#mayShare(request.resource, id, requests)),
    );
    return { amount: request.amount, devices, available, reusable, near, numaNodes };
  }

  #choose(
    request: ResourceRequest,
    requests: ContainerRequests,
    near: NodeMask | undefined,
  ): GrantStep | Problem {
    const { container, kind, order } = requests;
    const { resource } = request;
    const choices = this.#choices(request, requests, near);
    const needsNew = choices.reusable.size < request.amount;
    const unaccounted = this.inputs.unaccounted(resource);
    if (needsNew && unaccounted !== undefined) {
      const message = `${unaccounted} runs with devices of ${resource} that are not on record; none is given out until it ends`;
      return { kind: "wait", message, otherwise: refusal(message), resource: undefined };
    }
    const key = stepKey(container, resource);
    const chosen = chooseDevices(choices, this.inputs.preferences.get(key) ?? []);
    if (chosen.kind === "short")
      return tooFew(resource, request.amount - choices.reusable.size, chosen.free);
    const devices = chosen.ids.map((id) => ({ id, nodes: choices.devices.get(id)?.nodes ?? [] }));
    this.#shares.push({ container, kind, order, resource, devices });
    const { question, rule } = chosen;
    return { container, resource, devices, question, rule };
  }

  /**
   * Whether a container may have a device that others of its pod have: only if none of them ever runs
   * beside it. Sidecars run beside all that comes after them, regular containers beside each other.
   */
  #mayShare(resource: string, id: string, { kind, order }: ContainerRequests): boolean {
    return this.#shares
      .filter(
        (share) => share.resource === resource && share.devices.some((held) => held.id === id),
      )
      .every((share) => {
        if (kind === "init") return share.kind !== "sidecar" || share.order > order;
        if (share.kind !== "init") return false;
        return kind === "regular" || share.order < order;
      });
  }
}

function shareOf(
  { container, resource, devices }: Holding,
  requests: readonly ContainerRequests[],
): Share {
  const of = requests.find((other) => other.container === container);
  // Devices of a container that the pod no longer has are not shared.
  const { kind, order } = of ?? { kind: "regular" as const, order: 0 };
  return { container, kind, order, resource, devices };
}

function unmet({ kind }: Problem): Unmet {
  return kind === "wait" ? "later" : "refused";
}

/** Most devices held at once: by regular containers and sidecars, or by an init container with the sidecars before it. */
function podAmounts(requests: readonly ContainerRequests[]): ReadonlyMap<string, number> {
  const sidecars = new Map<string, number>();
  const regular = new Map<string, number>();
  const peak = new Map<string, number>();
  for (const { kind, resources: each } of requests) {
    for (const { resource, amount } of each) {
      const beside = sidecars.get(resource) ?? 0;
      if (kind === "regular") regular.set(resource, (regular.get(resource) ?? 0) + amount);
      else peak.set(resource, Math.max(peak.get(resource) ?? 0, beside + amount));
      if (kind === "sidecar") sidecars.set(resource, beside + amount);
    }
  }
  for (const [resource, amount] of regular)
    peak.set(resource, Math.max(peak.get(resource) ?? 0, amount + (sidecars.get(resource) ?? 0)));
  return peak;
}
