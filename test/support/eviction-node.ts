// Eviction on virtual time: a node in memory with pods that use what the test sets.
import assert from "node:assert/strict";
import type { Decision } from "../../src/api/decisions.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { Cell } from "../../src/kit/cell.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import {
  Eviction,
  type EvictionRequest,
  evictionSettings,
  type PodUsage,
  type PressureCondition,
} from "../../src/subsystems/eviction/eviction.ts";
import { candidateOf, type TestPod } from "../../src/subsystems/eviction/pods.vectors.ts";
import { SimClock } from "../sim/sim-clock.ts";

const MI = 2 ** 20;
const GI = 2 ** 30;

/** A node in memory whose pods use what the test sets; an evicted pod is gone after its grace. */
export class EvictionNode {
  readonly clock = new SimClock({ wallMs: 1_790_000_000_000 });
  readonly metrics = new MetricsRegistry();
  readonly events: string[] = [];
  readonly orders: EvictionRequest[] = [];
  readonly reclaimed: string[] = [];
  readonly measured: string[] = [];
  readonly decisions: Decision[] = [];
  readonly pressure = new Cell<readonly PressureCondition[]>([]);
  pods: TestPod[] = [];
  /** Of 1 GiB each. */
  memoryUsedMi = 0;
  diskUsedMi = 0;
  imagesMi = 0;
  /** What this pod uses of disks is not known before disks are measured again. */
  unseen: string | undefined;
  /** What is available on the disk is not known. */
  unknownDisk = false;
  /** The pods as the runtime measured their layers last, and when; without, it measures when asked. */
  layers: { readonly atMs: WallMs; readonly pods: readonly TestPod[] } | undefined;
  hasUnobservedPods = false;
  /** Names of pods that were evicted in a previous run of the agent. */
  leaving: readonly string[] = [];
  /** What happens while pods are measured. */
  whileMeasuring = () => {};
  /** Evicted pods stay for ever. */
  stuck = false;
  broken = false;
  readonly #leave = new AbortController();
  readonly #eviction: Eviction;

  constructor(config: Partial<KubeletConfig> = {}) {
    const settings = evictionSettings({ ...DEFAULT_CONFIG, ...config });
    this.#eviction = new Eviction(settings, {
      ports: {
        measureNode: async () => this.#measure(),
        hasUnobservedPods: () => this.hasUnobservedPods,
        candidates: () => this.pods.map(candidateOf),
        measurePods: async ({ disks }) => {
          const usages = this.#usages(disks ? "pods and disks" : "pods");
          this.whileMeasuring();
          return usages;
        },
        remeasurePods: async ({ layers }) => {
          assert.ok(layers);
          return this.#usages("disks again");
        },
        measureStorage: async (uids) => {
          const usages = this.#usages("storage");
          return new Map([...usages].filter(([uid]) => uids.has(uid)));
        },
        reclaim: async (step) => {
          this.reclaimed.push(step);
          if (step === "images") this.imagesMi = 0;
        },
        evict: (order) => this.#end(order),
        leavingPods: () =>
          this.leaving.filter((name) => this.names.includes(name)).map((name) => `uid-${name}`),
        untilCleanedUp: (uids, signal) => this.#untilGone(uids, signal),
      },
      nodeName: "node",
      events: {
        ofPod: ({ metadata }, { reason, message }) =>
          this.events.push(`${metadata.name} ${reason}: ${message}`),
        ofNode: ({ reason, message }) => this.events.push(`node ${reason}: ${message}`),
      },
      decisions: { record: (_, decision) => this.decisions.push(decision) },
      clock: this.clock,
      log: silentLog,
      metrics: this.metrics,
      pressure: this.pressure,
    });
    void this.#eviction.run(this.#leave.signal).catch(() => {});
  }

  /** The signals as they are reported now, without changing anything. */
  async signals() {
    const report = await this.#eviction.preview(new Map(), new AbortController().signal);
    return report.signals;
  }

  /** Rounds so far. */
  rounds = 0;

  /** The kernel reports that memory is short. */
  requestRound(): void {
    this.#eviction.requestRound();
  }

  get names(): readonly string[] {
    return this.pods.map(({ name }) => name);
  }

  async leave(): Promise<void> {
    this.#leave.abort();
    await this.clock.advance(0);
  }

  #measure() {
    this.rounds += 1;
    if (this.broken) throw new OutsideError("io", "input/output error");
    const sum = (of: (pod: TestPod) => number | undefined) =>
      this.pods.reduce((total, pod) => total + (of(pod) ?? 0), 0) * MI;
    const used = this.memoryUsedMi * MI + sum(({ memoryMi }) => memoryMi);
    const disk =
      (this.diskUsedMi + this.imagesMi) * MI +
      sum(({ volumeMi }) => volumeMi) +
      sum(({ rootfsMi }) => rootfsMi);
    const file = {
      capacityBytes: GI,
      availableBytes: GI - disk,
      inodes: 1000,
      inodesFree: 900,
    };
    return {
      layout: "single" as const,
      available: this.unknownDisk ? undefined : new Map([[1, file.availableBytes]]),
      measures: {
        atMs: this.clock.wall(),
        memory: { limitBytes: GI, workingSetBytes: used },
        nodefs: file,
        imagefs: file,
        containerfs: file,
        pids: { max: 1000, used: 100 },
      },
    };
  }

  #usages(what: string): ReadonlyMap<string, PodUsage> {
    this.measured.push(what);
    return new Map(
      (this.layers?.pods ?? this.pods)
        .map((pod) =>
          pod.name === this.unseen && what !== "disks again" ? { ...pod, rootfsMi: 0 } : pod,
        )
        .map(candidateOf)
        .flatMap(({ uid, usage }) => (usage ? [[uid, this.#measuredAt(usage)] as const] : [])),
    );
  }

  #measuredAt(usage: PodUsage): PodUsage {
    const atMs = this.clock.wall();
    const layerAtMs = this.layers?.atMs ?? atMs;
    return {
      ...usage,
      containers: usage.containers.map((one) => ({
        ...one,
        rootfs: { ...one.rootfs, atMs: layerAtMs },
        logs: { ...one.logs, atMs },
      })),
      volumes: usage.volumes.map((volume) => ({ ...volume, fs: { ...volume.fs, atMs } })),
      ...(usage.managedFiles ? { managedFiles: { ...usage.managedFiles, atMs } } : {}),
    };
  }

  #end(order: EvictionRequest): void {
    this.orders.push(order);
    const evicted = (pod: TestPod) => `uid-${pod.name}` === order.uid;
    this.pods = this.pods.map((pod) => (evicted(pod) ? { ...pod, ending: "evicted" } : pod));
    if (this.stuck) return;
    this.clock.alarm(order.graceSeconds * 1000, () => {
      this.pods = this.pods.filter((pod) => !evicted(pod));
    });
  }

  async #untilGone(uids: readonly string[], signal: AbortSignal): Promise<void> {
    while (this.pods.some(({ name }) => uids.includes(`uid-${name}`)))
      await this.clock.sleep(100, signal);
  }
}

/** Pods of every kind of usage. */
export const FIVE: readonly TestPod[] = [
  { name: "small", memoryMi: 10 },
  { name: "hog", memoryMi: 400 },
  { name: "within", requestMi: 300, memoryMi: 250 },
  { name: "important", memoryMi: 100, priority: 1000 },
  { name: "static", memoryMi: 100, isStatic: true },
];
