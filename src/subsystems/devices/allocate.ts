// pure
/**
 * Plans the devices of a pod, all containers and resources at once: a plan to be reserved, or why there is none. No
 * plugin is called here, so that a pod whose last request cannot be met costs no plugin a call.
 */
import type { PodUid } from "../../api/observation.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { type Choices, chooseDevices, type PreferenceQuestion } from "./choose.ts";
import type { Device, Inventory, ResourceRecord } from "./inventory.ts";
import { type HeldDevice, type Holding, holdingsOf, type Ledger } from "./ledger/ledger.ts";
import type { ContainerRequests, ResourceRequest } from "./requests.ts";
import {
  align,
  deviceHints,
  type Hints,
  type NodeMask,
  type TopologySettings,
} from "./topology.ts";

/** Everything a plan depends on. */
export interface PlanInputs {
  readonly podUid: PodUid;
  readonly requests: readonly ContainerRequests[];
  readonly inventory: Inventory;
  /** With what the pod surely keeps; what it only reserved is not in it. */
  readonly ledger: Ledger;
  /** Containers that run with unrecorded devices of a resource. */
  readonly unaccounted: (resource: string) => string | undefined;
  /** Only these containers, of a pod that was admitted before: they keep what they have. All when left out. */
  readonly only?: ReadonlySet<string>;
  /** Answers of plugins to questions of earlier plans, by `stepKey`. */
  readonly preferences: ReadonlyMap<string, readonly string[]>;
  /** Places decided for containers in earlier plans. */
  readonly places: ReadonlyMap<string, NodeMask | undefined>;
  readonly topology: TopologySettings;
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
      readonly places: ReadonlyMap<string, NodeMask | undefined>;
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
  readonly reason: "UnexpectedAdmissionError" | "TopologyAffinityError";
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

const MISALIGNED: AllocationRefusal = {
  kind: "refused",
  reason: "TopologyAffinityError",
  message: "Resources cannot be allocated with Topology locality",
};

type Problem = Exclude<GrantPlan, { kind: "plan" }>;

/** Devices that the pod gets in addition. */
export function planGrants(inputs: PlanInputs): GrantPlan {
  const draft = new Draft(inputs);
  const places = new Map(inputs.places);
  const steps: GrantStep[] = [];
  for (const requests of inputs.requests) {
    if (inputs.only && !inputs.only.has(requests.container)) continue;
    const needs = judgeAll(requests, draft);
    if ("kind" in needs) return needs;
    // Nothing is to be placed; where devices are that are not listed any more cannot be known.
    if (inputs.only && needs.length === 0) continue;
    if (!places.has(requests.container)) {
      const place = draft.placeOf(requests);
      if (place.kind === "refused") return MISALIGNED;
      places.set(requests.container, place.mask);
    }
    for (const request of needs) {
      const step = draft.choose(request, requests, places.get(requests.container));
      if ("kind" in step) return step;
      steps.push(step);
    }
  }
  return { kind: "plan", steps, places };
}

/** Devices that the container still needs, or why it cannot get them. */
function judgeAll(requests: ContainerRequests, draft: Draft): readonly ResourceRequest[] | Problem {
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
  draft: Draft,
): Verdict {
  const { inventory, podUid, expects, only } = draft.inputs;
  const record = inventory.get(resource);
  const held = draft.heldBy(container, resource);
  if (held && held.length !== amount)
    return refusal(
      `pod "${podUid}" container "${container}" changed request for resource "${resource}" from ${held.length} to ${amount}`,
    );
  // Health counts at admission; a container that starts again is not to wait for what it has.
  if (held && only) return { kind: "have" };
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
    readonly draft: Draft;
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
class Draft {
  readonly inputs: PlanInputs;
  readonly #shares: Share[];
  #podPlace: Place | undefined;

  constructor(inputs: PlanInputs) {
    this.inputs = inputs;
    this.#shares = holdingsOf(inputs.ledger, inputs.podUid).map((holding) =>
      shareOf(holding, inputs.requests),
    );
  }

  heldBy(container: string, resource: string): readonly HeldDevice[] | undefined {
    return this.#shares.find(
      (share) => share.container === container && share.resource === resource,
    )?.devices;
  }

  /** Placement of the container's devices, by the scope of the policy. */
  placeOf(requests: ContainerRequests): Place {
    if (this.inputs.topology.scope === "container") return placeOfContainer(requests, this);
    this.#podPlace ??= placeOfPod(this);
    return this.#podPlace;
  }

  /** Whether anybody has devices of the resource. */
  isKnown(resource: string): boolean {
    return this.inputs.ledger.owners.has(resource);
  }

  /** Devices available to a container; none of unregistered resources. */
  choices(
    request: ResourceRequest,
    requests: ContainerRequests,
    near: NodeMask | undefined,
  ): Choices {
    const { inventory, ledger, topology } = this.inputs;
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
    return { amount: request.amount, devices, available, reusable, near, topology };
  }

  choose(
    request: ResourceRequest,
    requests: ContainerRequests,
    near: NodeMask | undefined,
  ): GrantStep | Problem {
    const { container, kind, order } = requests;
    const { resource } = request;
    const choices = this.choices(request, requests, near);
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

type Place =
  | { readonly kind: "refused" }
  | { readonly kind: "admitted"; readonly mask: NodeMask | undefined };

function placeOfContainer(requests: ContainerRequests, draft: Draft): Place {
  const { topology } = draft.inputs;
  if (topology.policy === "none") return { kind: "admitted", mask: undefined };
  return align(
    requests.resources.map((request) => hintsFor(request, requests, draft)),
    topology,
  );
}

function hintsFor(request: ResourceRequest, requests: ContainerRequests, draft: Draft): Hints {
  if (!draft.inputs.inventory.has(request.resource)) return "any";
  const choices = draft.choices(request, requests, undefined);
  const held = draft.heldBy(requests.container, request.resource);
  if (!held) return deviceHints(choices, draft.inputs.topology);
  const available = new Set(held.map(({ id }) => id));
  return deviceHints({ ...choices, available, reusable: new Set() }, draft.inputs.topology);
}

/** One place for all containers: the pod's resources are hinted at as if one container asked for them. */
function placeOfPod(draft: Draft): Place {
  const { requests, topology } = draft.inputs;
  if (topology.policy === "none") return { kind: "admitted", mask: undefined };
  const whole = { container: "", kind: "init", order: requests.length } as const;
  const hints = [...podAmounts(requests)].map(([resource, amount]) =>
    hintsFor({ resource, amount }, { ...whole, resources: [] }, draft),
  );
  return align(hints, topology);
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
