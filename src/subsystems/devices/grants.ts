/**
 * Giving devices to a pod: reserved first, all of them, then asked for one by one. No lock is held while
 * plugins answer: no other pod can get what is reserved in the ledger, and if one plugin refuses all of it
 * is given back at once. A slow plugin delays only the pod itself.
 */

import { makeDecision } from "../../api/decisions.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { type Decisions, podSubject } from "../../api/ports/decisions.ts";
import type { HintDraft, NumaPlacement } from "../../api/ports/hint-provider.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Histogram } from "../../kit/metrics.ts";
import {
  DeviceDraft,
  type GrantPlan,
  type GrantStep,
  type PlanInputs,
  planGrants,
  refusal,
  stepKey,
} from "./allocate.ts";
import { findHolding, type Holding, holdingsOf, withPod } from "./ledger/ledger.ts";
import type { PluginConnection } from "./plugins/plugin.ts";
import type { ContainerRequests } from "./requests.ts";
import type { DeviceState } from "./state.ts";

interface GrantsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly state: DeviceState;
  readonly findPlugin: (resource: string) => PluginConnection | undefined;
  readonly numaNodes: readonly number[];
  readonly unaccounted: (resource: string) => string | undefined;
  readonly expects: (pod: IdentifiedPod, resource: string) => boolean;
  /** Resolves when what was granted would survive the agent. */
  readonly saved: () => Promise<void>;
  readonly decisions: Pick<Decisions, "record">;
  /** Seconds that plugins take to answer (`device_plugin_alloc_duration_seconds`). */
  readonly allocSeconds: Histogram;
  readonly settleMs: number;
}

/** Devices to allocate, and the pod. */
interface GrantRequest {
  readonly pod: IdentifiedPod;
  readonly requests: readonly ContainerRequests[];
  /** Only this container, of a pod that was admitted before: it keeps what it has. All when left out. */
  readonly only?: string | undefined;
  readonly placement: NumaPlacement;
}

/** Result of an allocation. */
export type GrantResult = { readonly kind: "granted" } | Exclude<GrantPlan, { kind: "plan" }>;

/** Most times a plan is recreated because things changed while plugins answered. */
const MAX_ROUNDS = 1_000;

/** Gives devices; see above. */
export class Grants {
  readonly #deps: GrantsDeps;

  constructor(deps: GrantsDeps) {
    this.#deps = deps;
  }

  /** What `give` would plan, without a placement. */
  draft(request: Omit<GrantRequest, "placement">): HintDraft {
    return new DeviceDraft(this.#inputs({ ...request, placement: new Map() }, new Map()));
  }

  /** Allocates what is missing. When `signal` is aborted nothing more is changed; the caller cleans up the ledger. */
  async give(request: GrantRequest, signal: AbortSignal): Promise<GrantResult> {
    const attempt: Attempt = {
      request,
      made: new Set(),
      preferences: new Map(),
    };
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const plan = planGrants(this.#inputs(request, attempt.preferences));
        if (plan.kind !== "plan") return this.#giveBack(attempt, plan);
        this.#reserve(request.pod.metadata.uid, plan.steps);
        const taken = await this.#takeAll(plan.steps, attempt, signal);
        if (taken === "plan again") continue;
        if (taken !== "all") return this.#giveBack(attempt, taken);
        if (attempt.made.size > 0) await this.#deps.saved();
        return { kind: "granted" };
      }
      return this.#giveBack(attempt, refusal("plugins keep changing their answers"));
    } catch (error) {
      if (signal.aborted) throw error;
      const message = `failed to write the device checkpoint: ${messageOf(error)}`;
      const otherwise = refusal(message);
      return this.#giveBack(attempt, { kind: "wait", message, otherwise, resource: undefined });
    }
  }

  /** Asks once more for devices that a container has, of which the plugin's answer is not known any more. */
  async askAgain(held: Holding, signal: AbortSignal): Promise<void> {
    const plugin = this.#deps.findPlugin(held.resource);
    if (!plugin) throw new Error(`waiting for the plugin of ${held.resource} to register again`);
    const answer = await this.#ask(
      plugin,
      held.devices.map(({ id }) => id),
      signal,
    );
    const { state } = this.#deps;
    const now = findHolding(state.ledger, held.podUid, held.container, held.resource);
    if (now === held) this.#put({ ...held, answer });
    await this.#deps.saved();
  }

  #inputs(
    { pod, requests, only, placement }: GrantRequest,
    preferences: PlanInputs["preferences"],
  ): PlanInputs {
    const { state, numaNodes, unaccounted, expects, clock, settleMs } = this.#deps;
    const podUid = pod.metadata.uid;
    const kept = holdingsOf(state.ledger, podUid).filter((holding) => holding.state === "granted");
    return {
      podUid,
      requests,
      only,
      inventory: state.inventory.get(),
      ledger: withPod(state.ledger, podUid, kept),
      unaccounted,
      preferences,
      placement,
      numaNodes,
      expects: (resource) => expects(pod, resource),
      now: clock.monotonic(),
      settleMs,
    };
  }

  /** Puts the plan's devices aside for the pod, in the place of what was put aside for it before. */
  #reserve(podUid: PodUid, steps: readonly GrantStep[]): void {
    const { state, clock } = this.#deps;
    const kept = holdingsOf(state.ledger, podUid).filter((holding) => holding.state === "granted");
    const since = clock.wall();
    const asked = steps.map(
      ({ container, resource, devices }): Holding => ({
        podUid,
        container,
        resource,
        devices,
        answer: undefined,
        state: "asked",
        since,
      }),
    );
    state.setLedger(withPod(state.ledger, podUid, [...kept, ...asked]));
  }

  /** Step by step; reservations stay valid as long as no plugin sends a new list. */
  async #takeAll(
    steps: readonly GrantStep[],
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<"all" | "plan again" | Exclude<GrantResult, { kind: "granted" }>> {
    const { inventory } = this.#deps.state;
    const planned = inventory.get();
    for (const step of steps) {
      const problem = await this.#take(step, attempt, signal);
      signal.throwIfAborted();
      if (problem) return problem;
      const granted = attempt.made.has(stepKey(step.container, step.resource));
      if (!granted || inventory.get() !== planned) return "plan again";
    }
    return "all";
  }

  /** One step: the plugin's preference first, and with the next plan its answer. */
  async #take(
    step: GrantStep,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<Exclude<GrantResult, { kind: "granted" }> | undefined> {
    const { container, resource, devices, question, rule } = step;
    const plugin = this.#deps.findPlugin(resource);
    const key = stepKey(container, resource);
    if (!plugin) return goneWhileAsked(resource, "its plugin disconnected");
    if (
      question &&
      plugin.options.getPreferredAllocationAvailable &&
      !attempt.preferences.has(key)
    ) {
      attempt.preferences.set(key, await this.#prefer(plugin, question, signal));
      return undefined;
    }
    const ids = devices.map(({ id }) => id);
    try {
      const answer = await this.#ask(plugin, ids, signal);
      if (signal.aborted) return undefined;
      this.#put({
        podUid: attempt.request.pod.metadata.uid,
        container,
        resource,
        devices,
        answer,
        state: "granted",
        since: this.#deps.clock.wall(),
      });
      attempt.made.add(key);
      this.#deps.decisions.record(
        podSubject(attempt.request.pod),
        makeDecision("grantDevices", rule, { container, resource, devices: ids }),
      );
      return undefined;
    } catch (error) {
      const message = messageOf(error);
      return plugin.ended ? goneWhileAsked(resource, message) : refusal(message);
    }
  }

  /** A plugin whose GetPreferredAllocation fails has no preference. */
  async #prefer(
    plugin: PluginConnection,
    question: NonNullable<GrantStep["question"]>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    try {
      return await plugin.prefer(question, signal);
    } catch (error) {
      if (!signal.aborted)
        this.#deps.log.warn("failed to get preferred devices from the device plugin", {
          resource: plugin.target.resource,
          error,
        });
      return [];
    }
  }

  async #ask(
    plugin: PluginConnection,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { clock, allocSeconds } = this.#deps;
    const began = clock.monotonic();
    const answer = await plugin.allocate(ids, signal);
    allocSeconds.observe((clock.monotonic() - began) / 1000, {
      resource_name: plugin.target.resource,
    });
    return answer;
  }

  /** Puts a holding in the place of the one of the same container and resource. */
  #put(holding: Holding): void {
    const { state } = this.#deps;
    const { podUid, container, resource } = holding;
    const others = holdingsOf(state.ledger, podUid).filter(
      (other) => other.container !== container || other.resource !== resource,
    );
    state.setLedger(withPod(state.ledger, podUid, [...others, holding]));
  }

  /** Everything this attempt reserved or was given goes back; what the pod had before stays. */
  #giveBack<R extends GrantResult>({ request, made }: Attempt, result: R): R {
    const { state } = this.#deps;
    const podUid = request.pod.metadata.uid;
    const kept = holdingsOf(state.ledger, podUid).filter(
      ({ state: stage, container, resource }) =>
        stage === "granted" && !made.has(stepKey(container, resource)),
    );
    state.setLedger(withPod(state.ledger, podUid, kept));
    return result;
  }
}

/** One run of `give`. */
interface Attempt {
  readonly request: GrantRequest;
  /** Steps that were granted in this run. */
  readonly made: Set<string>;
  readonly preferences: Map<string, readonly string[]>;
}

function goneWhileAsked(resource: string, why: string): Exclude<GrantResult, { kind: "granted" }> {
  return {
    kind: "wait",
    message: `waiting for the plugin of ${resource} to register again; it disconnected during the request`,
    otherwise: refusal(why),
    resource,
  };
}
