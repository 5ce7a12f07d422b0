/** Devices that pods would get one after the other, by the same rules as in the agent, of plugins that prefer none. */
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { HintDraft, HintProvider, NumaPlacement } from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { DeviceDraft, type PlanInputs, planGrants } from "./allocate.ts";
import { arrive, type Device, EMPTY_INVENTORY, type Inventory, listDevices } from "./inventory.ts";
import {
  EMPTY_LEDGER,
  type Holding,
  holdingsOf,
  type Ledger,
  release,
  withPod,
} from "./ledger/ledger.ts";
import type { DeviceReport } from "./report.ts";
import { deviceRequests } from "./requests.ts";

const START = 0 as MonotonicMs;

/** The plan of devices. */
export class PlannedDevices implements HintProvider {
  readonly #inventory: Inventory;
  readonly #numaNodes: readonly number[];
  #ledger: Ledger = EMPTY_LEDGER;

  /** All devices of the report can be had, whoever has them there. */
  constructor({ resources }: Pick<DeviceReport, "resources">, numaNodes: readonly number[]) {
    let inventory = EMPTY_INVENTORY;
    for (const { resource, devices } of resources) {
      const listed = devices.map(
        ({ id, health, numaNodes: nodes }): Device => ({
          id,
          healthy: health === "healthy",
          nodes,
        }),
      );
      inventory = listDevices(arrive(inventory, resource, START), resource, listed);
    }
    this.#inventory = inventory;
    this.#numaNodes = numaNodes;
  }

  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined {
    return deviceRequests(pod).length === 0
      ? undefined
      : new DeviceDraft(this.#inputs(pod, new Map(), only));
  }

  async grant(pod: IdentifiedPod, placement: NumaPlacement): Promise<ResourceGrant> {
    const plan = planGrants(this.#inputs(pod, placement));
    if (plan.kind === "wait") return plan.otherwise;
    if (plan.kind === "refused") return plan;
    const podUid = pod.metadata.uid;
    const given = plan.steps.map(
      ({ container, resource, devices }): Holding => ({
        podUid,
        container,
        resource,
        devices,
        answer: undefined,
        state: "granted",
        since: undefined,
      }),
    );
    const kept = holdingsOf(this.#ledger, podUid);
    if (given.length > 0) this.#ledger = withPod(this.#ledger, podUid, [...kept, ...given]);
    return { kind: "granted" };
  }

  /** The pod was refused in the end. */
  forget(uid: PodUid): void {
    this.#ledger = release(this.#ledger, uid);
  }

  /** Devices of the pod. */
  heldBy(uid: PodUid): readonly Holding[] {
    return holdingsOf(this.#ledger, uid);
  }

  #inputs(pod: IdentifiedPod, placement: NumaPlacement, only?: string): PlanInputs {
    return {
      podUid: pod.metadata.uid,
      requests: deviceRequests(pod),
      inventory: this.#inventory,
      ledger: this.#ledger,
      unaccounted: () => undefined,
      only,
      preferences: new Map(),
      placement,
      numaNodes: this.#numaNodes,
      expects: () => false,
      now: START,
      settleMs: 0,
    };
  }
}
