/**
 * Devices. Owns: the inventory of devices and the ledger of who has which. In: device plugins, pods that
 * request devices, what runs. Out: grants, what they add to containers, counts for the node's status. Invariants:
 * no device has two owners; a grant is on disk before its pod may start; what a pod had is free again as
 * soon as the pod was seen ended, and not before.
 * Example: `await devices.start(); const verdict = await devices.grant(pod, placement);`, then `devices.containerParts(pod, container, placement, signal)`.
 */

import type { Container, ResourceStatus } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { ObservedPod, PodUid } from "../../api/observation.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import type { PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { Decisions } from "../../api/ports/decisions.ts";
import type { NodeEvents, PodEvents } from "../../api/ports/events.ts";
import type { HintDraft, HintProvider, NumaPlacement } from "../../api/ports/hint-provider.ts";
import type { ResourceGrant } from "../../api/resource-grant.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { Grpc } from "../../outside/grpc/grpc.ts";
import type { Files } from "../../outside/host/host.ts";
import { ContainerAllocateResponse } from "../../outside/plugins/plugins.ts";
import { DeviceAdmission } from "./admission.ts";
import type { DevicePod } from "./device-pod.ts";
import { ExpectedPlugins } from "./expected-plugins.ts";
import { Grants } from "./grants.ts";
import { allocatableDevices, heldDevices } from "./held-devices.ts";
import { expectAgain, healthyIds, isReportedHealthy } from "./inventory.ts";
import { CheckpointStore } from "./ledger/checkpoint-store.ts";
import {
  type ContainerDeviceParts,
  mergeAnswers,
  NO_DEVICE_PARTS,
} from "./ledger/container-parts.ts";
import { allHoldings, type Holding, holdingsOf, ownerOf } from "./ledger/ledger.ts";
import {
  ledgerOf,
  type RunningContainer,
  reconcileRunning,
  unaccountedContainers,
} from "./ledger/recover.ts";
import { UnaccountedContainers } from "./ledger/unaccounted-containers.ts";
import { PluginSide } from "./plugins/plugin-side.ts";
import { Releases } from "./releases.ts";
import { countStates, type DeviceReport, reportDevices } from "./report.ts";
import { compareText, deviceRequests } from "./requests.ts";
import { type DeviceCapacity, DeviceState } from "./state.ts";

export type { DevicePod } from "./device-pod.ts";
export { type ContainerDeviceParts, DEVICES_ANNOTATION } from "./ledger/container-parts.ts";
export { PlannedDevices } from "./planned-devices.ts";
export type { DeviceReport } from "./report.ts";
export type { DeviceCapacity } from "./state.ts";

/** Settings of the module. */
export interface DevicesOptions {
  /** Folder of the plugins' sockets and of the checkpoint. */
  readonly folder: string;
  /** NUMA nodes of the machine, ascending. */
  readonly numaNodes: readonly number[];
  /** How long a pod waits for a plugin that is known but not there; 0 refuses at once, as the Go kubelet. */
  readonly deferMs: number;
  /** How long a plugin's `Allocate` may take; 0 waits forever, as the Go kubelet. */
  readonly allocateMs: number;
  /** Devices that only init containers use stay with the pod until it ends, as in the Go kubelet. */
  readonly keepInitDevices: boolean;
}

interface DevicesDeps {
  /** Without it no plugin can come, and no pod gets a device. */
  readonly grpc: Grpc | undefined;
  readonly files: Files;
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly events: PodEvents & NodeEvents;
  readonly decisions: Pick<Decisions, "record">;
  /** Notified when a pod's status may have changed (`health`), or the verdict of admission (`admission`). */
  readonly news: Publisher<PodNews>;
  readonly pods: Pick<PodFacts, "get">;
  /** How much of the resource the node was last shown to have; see `ExpectedPlugins`. */
  readonly advertised?: (resource: string) => string | undefined;
}

/** A container cannot have its devices now; the message is for the pod's status. */
export class DevicesNotReady extends Error {
  override readonly name = "DevicesNotReady";
}

const CHECKPOINT = "kubelet_internal_checkpoint";
/** Differences that are remembered for people. */
const MAX_NOTES = 100;

/** The module; see above. */
export class Devices implements HintProvider {
  readonly #options: DevicesOptions;
  readonly #deps: DevicesDeps;
  readonly #state: DeviceState;
  readonly #store: CheckpointStore;
  readonly #plugins: PluginSide;
  readonly #grants: Grants;
  readonly #admission: DeviceAdmission;
  readonly #releases: Releases;
  readonly #expected: ExpectedPlugins;
  readonly #unaccounted = new UnaccountedContainers();
  #notes: readonly string[] = [];

  constructor(options: DevicesOptions, deps: DevicesDeps) {
    const { clock, metrics } = deps;
    this.#options = options;
    this.#deps = deps;
    this.#state = new DeviceState({
      clock,
      onChanged: () => this.#store.changed(),
      onHealth: (resource, ids) => this.#publishHealth(resource, ids),
    });
    const state = this.#state;
    this.#store = this.#makeStore();
    this.#expected = new ExpectedPlugins({ ...deps, deferMs: options.deferMs });
    this.#plugins = new PluginSide(options, { ...deps, state });
    this.#grants = new Grants({
      ...deps,
      state,
      numaNodes: options.numaNodes,
      settleMs: options.deferMs,
      findPlugin: (resource) => this.#plugins.find(resource),
      unaccounted: (resource) => this.#unaccounted.holderOf(resource),
      expects: (pod, resource) => this.#expected.expects(pod, resource),
      saved: () => this.#store.saved(),
      allocSeconds: metrics.histogram(METRICS.kubelet_device_plugin_alloc_duration_seconds),
    });
    this.#admission = new DeviceAdmission({
      clock,
      state,
      grants: this.#grants,
      deferMs: options.deferMs,
      onWorthRetry: (podUid) => this.#publish(podUid, "admission"),
    });
    this.#releases = new Releases({
      state,
      decisions: deps.decisions,
      onFreed: () => this.#admission.retryAll(),
    });
    this.#expose(metrics);
  }

  /** Reads what was granted in a previous run, and lets plugins come. */
  async start(): Promise<void> {
    const { scope, clock } = this.#deps;
    scope.defer("devices", () => this.#close());
    const loaded = await this.#store.load();
    this.#expected.checkpoint = loaded.kind;
    switch (loaded.kind) {
      case "read": {
        const { holdings, registered, preStart } = loaded.kept;
        const { ledger, differences } = ledgerOf(holdings);
        this.#state.setLedger(ledger);
        for (const difference of differences) this.#note(difference);
        this.#plugins.remember(preStart);
        this.#state.setInventory(
          expectAgain(this.#state.inventory.get(), registered.keys(), clock.monotonic()),
        );
        break;
      }
      case "missing":
        this.#state.beginFresh();
        break;
      case "broken": {
        const { why, keptAs } = loaded;
        const kept = keptAs === undefined ? "it could not be renamed" : `it was kept as ${keptAs}`;
        this.#note(`the checkpoint could not be read (${why}); ${kept}`);
        break;
      }
      default:
        loaded satisfies never;
    }
    await this.#plugins.open();
  }

  /** Containers in the runtime at start: they show who holds which devices before any are allocated. */
  adopt(found: readonly ObservedPod[]): void {
    const running = found.flatMap(({ uid, observed }) =>
      observed.containers
        .filter(({ state }) => state === "running" || state === "unknown")
        .map(
          (each): RunningContainer => ({
            podUid: uid,
            container: each.name,
            note: each.devices,
          }),
        ),
    );
    const { ledger, differences } = reconcileRunning(this.#state.ledger, running);
    this.#state.setLedger(ledger);
    for (const difference of differences) this.#note(difference);
    const resources = allHoldings(ledger).map(({ resource }) => resource);
    this.#state.setInventory(
      expectAgain(this.#state.inventory.get(), resources, this.#deps.clock.monotonic()),
    );
    if (this.#expected.hasNoRecord) this.#unaccounted.add(unaccountedContainers(ledger, running));
  }

  /** Every source has been seen: devices of unknown pods are free. */
  sourcesSeen(isKnown: (podUid: PodUid) => boolean): void {
    for (const podUid of this.#state.ledger.pods.keys()) {
      if (isKnown(podUid)) continue;
      this.#note(`pod ${podUid} is gone; its devices are free`);
      this.#releases.release(podUid, undefined, "the pod is gone");
    }
  }

  draft(pod: IdentifiedPod, only: string | undefined): HintDraft | undefined {
    const requests = deviceRequests(pod);
    if (requests.length === 0 || this.#admission.isUnderWay(pod.metadata.uid)) return undefined;
    return this.#grants.draft({ pod, requests, only });
  }

  /** Devices for all containers of the pod, or why not (yet). A retry continues where it was. */
  grant(pod: IdentifiedPod, placement: NumaPlacement): Promise<ResourceGrant> {
    return this.#admission.grant(pod, placement);
  }

  /** Follows a pod's life; called with every observation. Cheap for pods without devices. */
  observe({ uid, pod, known, ended, initsDone, running }: DevicePod): void {
    if (!this.#unaccounted.none) {
      const name = podDisplayName(pod);
      const requests = known ? deviceRequests(pod) : undefined;
      const changed = ended
        ? this.#unaccounted.forget(uid)
        : this.#unaccounted.learn(uid, { name, requests, running });
      if (changed) this.#admission.retryAll();
    }
    if (ended) {
      this.#admission.cancel(uid);
      this.#releases.release(uid, pod, "the pod has ended");
    } else if (initsDone && !this.#options.keepInitDevices) {
      if (this.#releases.releaseInits(pod)) this.#publish(uid, "health");
    }
  }

  /**
   * Additions to the container for its devices. Calls `PreStartContainer` of plugins that require it, and `Allocate` for
   * devices that the container does not have (any more). Throws `DevicesNotReady`.
   */
  async containerParts(
    pod: IdentifiedPod,
    container: Pick<Container, "name">,
    placement: NumaPlacement,
    signal: AbortSignal,
  ): Promise<ContainerDeviceParts> {
    const requests = deviceRequests(pod);
    if (!requests.some((each) => each.container === container.name)) return NO_DEVICE_PARTS;
    const podUid = pod.metadata.uid;
    const request = { pod, requests, only: container.name, placement };
    const given = await this.#grants.give(request, signal);
    if (given.kind !== "granted") throw new DevicesNotReady(given.message);
    try {
      for (const holding of this.#holdings(podUid, container.name)) {
        if (!holding.answer) await this.#grants.askAgain(holding, signal);
        const missing = await this.#plugins.beforeStart(holding, signal);
        if (missing !== undefined) throw new DevicesNotReady(missing);
      }
    } catch (error) {
      if (signal.aborted || error instanceof DevicesNotReady) throw error;
      throw new DevicesNotReady(messageOf(error), { cause: error });
    }
    const holdings = this.#holdings(podUid, container.name);
    if (holdings.length === 0) return NO_DEVICE_PARTS;
    const { parts, conflicts } = mergeAnswers(holdings, decodeAnswer);
    for (const conflict of conflicts)
      this.#deps.log.warn("device plugins returned conflicting responses for a container", {
        pod: podDisplayName(pod),
        container: container.name,
        conflict,
      });
    return parts;
  }

  /** The health of what a container has, as its status shows it; `undefined` when it has nothing. */
  allocatedResources(podUid: PodUid, container: string): readonly ResourceStatus[] | undefined {
    const holdings = this.#holdings(podUid, container).filter(({ state }) => state === "granted");
    if (holdings.length === 0) return undefined;
    const inventory = this.#state.inventory.get();
    return holdings.map(({ resource, devices }) => ({
      name: resource,
      resources: devices.map(({ id }) => ({
        resourceID: id,
        health: isReportedHealthy(inventory.get(resource), id) ? "Healthy" : "Unhealthy",
      })),
    }));
  }

  /** Counts for the node's status. */
  get capacity(): Reading<DeviceCapacity> {
    return this.#state.capacity;
  }

  /** The two facts themselves. */
  get state(): Pick<DeviceState, "inventory" | "ledger"> {
    return this.#state;
  }

  /** Who has which devices, and which may be given, for the pod resources API. */
  readonly held = {
    heldBy: (pod: IdentifiedPod) => heldDevices(pod, this.#state.ledger),
    allocatable: () => allocatableDevices(this.#state.inventory.get()),
  };

  /** Plugins that come through the registry folder, and whether the socket for the others is well. */
  get plugins(): Pick<PluginSide, "register" | "deregister" | "problem" | "problems"> {
    return this.#plugins;
  }

  /** Everything, for people. */
  report(): DeviceReport {
    return reportDevices({
      inventory: this.#state.inventory.get(),
      ledger: this.#state.ledger,
      plugins: new Map(this.#plugins.list().map((target) => [target.resource, target])),
      podOf: (uid) => this.#deps.pods.get(uid)?.pod,
      notes: this.#notes,
      now: this.#deps.clock.monotonic(),
      decode: decodeAnswer,
    });
  }

  #makeStore(): CheckpointStore {
    const { state, clock, metrics } = this.#deps;
    const writes = metrics.counter({
      name: "nodelet_device_checkpoint_writes_total",
      help: "Number of writes of the device checkpoint.",
    });
    const content = () => ({
      holdings: allHoldings(this.#state.ledger).filter(({ state }) => state === "granted"),
      registered: healthyIds(this.#state.inventory.get()),
      preStart: this.#plugins.preStart,
    });
    const path = `${this.#options.folder}/${CHECKPOINT}`;
    return new CheckpointStore(path, { state, clock, writes, content });
  }

  async #close(): Promise<void> {
    this.#admission.close();
    this.#state.close();
    await this.#store.close();
  }

  #holdings(podUid: PodUid, container: string): readonly Holding[] {
    return holdingsOf(this.#state.ledger, podUid)
      .filter((holding) => holding.container === container)
      .toSorted((a, b) => compareText(a.resource, b.resource));
  }

  #publishHealth(resource: string, ids: readonly string[]): void {
    const { ledger, inventory } = this.#state;
    const record = inventory.get().get(resource);
    for (const [podUid, changed] of Map.groupBy(ids, (id) => ownerOf(ledger, resource, id))) {
      if (podUid === undefined) continue;
      const sick = changed.filter((id) => !isReportedHealthy(record, id));
      const pod = this.#deps.pods.get(podUid)?.pod;
      if (pod && sick.length > 0) {
        const message = `${resource} ${sick.join(", ")} became unhealthy`;
        this.#deps.events.ofPod(pod, { type: "Warning", reason: "DeviceUnhealthy", message });
      }
      this.#publish(podUid, "health");
    }
  }

  #publish(uid: PodUid, what: "health" | "admission"): void {
    this.#deps.news.publish({ kind: "devices", uid, what });
  }

  #note(text: string): void {
    this.#deps.log.warn("device checkpoint differs from runtime", { difference: text });
    this.#notes = [...this.#notes, text].slice(-MAX_NOTES);
  }

  #expose(metrics: MetricsRegistry): void {
    const help = "Devices by resource and state: free, owned or unusable.";
    metrics.collected({ name: "nodelet_devices", help, type: "gauge" }, () =>
      [...countStates(this.#state.inventory.get(), this.#state.ledger)].flatMap(
        ([resource, counts]) =>
          Object.entries(counts).map(([state, value]) => ({ labels: { resource, state }, value })),
      ),
    );
  }
}

const decodeAnswer = (answer: Uint8Array) => ContainerAllocateResponse.decode(answer);
