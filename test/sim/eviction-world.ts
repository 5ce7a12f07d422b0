// A node whose memory and disk are what its pods hold and what the machine itself takes.
import assert from "node:assert/strict";
import type { Node, Pod } from "../../src/api/generated/types.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { podOf } from "./cluster-world.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { FAKE_FACTS } from "./fake-host.ts";
import { MANIFESTS, World } from "./world.ts";

export const MI = 2 ** 20;
/** The default hard threshold of memory. */
export const MEMORY_THRESHOLD_MI = 100;
/** The larger of the default thresholds of a disk that holds both images and all else. */
export const DISK_THRESHOLD = 0.15;

/** What a pod of one container holds of memory and of disk, and what it requests. */
export interface Holding {
  readonly memoryMi?: number;
  /** Its writable layer, for as long as the container is there. */
  readonly diskMi?: number;
  readonly requests?: Readonly<Record<string, string>>;
  /** From a manifest: it is never evicted. */
  readonly isStatic?: true;
  /** It ends by force only, after the grace period that it is given; by itself it asks for two minutes. */
  readonly isStubborn?: true;
}

/** Pods by name. */
export type Holdings = Readonly<Record<string, Holding>>;

/** See the head of the file. */
export class ShortNode {
  readonly world: World;
  readonly api: FakeApiServer;
  /** What others than pods and images hold. */
  machine = { memoryMi: 1_000, diskMi: 10_000 };
  /** When less was left than a threshold requires, last. */
  lastShortMs = Number.NEGATIVE_INFINITY;
  readonly #holds: Holdings;

  constructor(seed: number, holds: Holdings, more: Partial<KubeletConfig> = {}) {
    // Images are removed for eviction only.
    const config = { imageGCHighThresholdPercent: 100, ...more };
    this.world = new World(seed, {}, { cluster: true, config });
    assert.ok(this.world.api);
    this.api = this.world.api;
    this.#holds = holds;
    this.world.runtime.layerBytes = ({ sandboxId }) => (this.#held(sandboxId).diskMi ?? 0) * MI;
    this.world.watch = () => this.#count();
    this.world.runtime.store.onRemoved = () => this.#count();
    this.world.runtime.onChange = () => this.#count();
  }

  /** Bytes of memory and disk that are left. */
  get memoryLeftMi(): number {
    const free = /MemFree: (\d+)/.exec(this.world.host.kernelFiles.get("/proc/meminfo") ?? "")?.[1];
    return Number(free) / 1024;
  }

  get isShort(): boolean {
    const { availableBytes, capacityBytes } = this.world.host.disk;
    return (
      this.memoryLeftMi < MEMORY_THRESHOLD_MI || availableBytes < capacityBytes * DISK_THRESHOLD
    );
  }

  pod(name: string): Pod | undefined {
    const shown = this.#holds[name]?.isStatic ? `${name}-sim` : name;
    return this.api.objects.find({
      collection: "pods",
      namespace: "default",
      name: shown,
    }) as Pod | undefined;
  }

  node(): Node | undefined {
    return this.api.objects.find({
      collection: "nodes",
      namespace: undefined,
      name: "sim",
    }) as Node | undefined;
  }

  async create(name: string): Promise<void> {
    const { requests, isStatic, isStubborn } = this.#holds[name] ?? {};
    const pod = podOf(name, { kind: isStubborn ? "stubborn" : "sleep" }, "Always") as {
      readonly spec: { readonly nodeName: string; readonly containers: readonly object[] };
    };
    const { nodeName, containers, ...rest } = pod.spec;
    const resources = requests ? { requests } : {};
    const grace = isStubborn ? { terminationGracePeriodSeconds: 120 } : {};
    const spec = { ...rest, ...grace, containers: [{ ...containers[0], resources }] };
    if (isStatic) await this.#write(name, { ...pod, spec });
    else
      this.api.objects.create(
        { collection: "pods", namespace: "default" },
        { ...pod, spec: { ...spec, nodeName } },
      );
  }

  async #write(name: string, pod: object): Promise<void> {
    await this.world.host.files.writeAtomic(
      `${MANIFESTS}/${name}.json`,
      JSON.stringify(pod),
      0o644,
    );
  }

  #held(sandboxId: string): Holding {
    const name = this.world.runtime.sandboxes.get(sandboxId)?.config.metadata?.name ?? "";
    return this.#holds[name.replace(/-sim$/, "")] ?? {};
  }

  /** Memory is held by what runs, disk by all containers that are there, and by images. */
  #count(): void {
    const { host, runtime, clock } = this.world;
    let { memoryMi, diskMi } = this.machine;
    for (const { sandboxId, state } of runtime.containers.values()) {
      const held = this.#held(sandboxId);
      diskMi += held.diskMi ?? 0;
      if (state !== "running") continue;
      memoryMi += held.memoryMi ?? 0;
      const parent = runtime.sandboxes.get(sandboxId)?.config.linux?.cgroupParent;
      this.#setMemory(parent ?? "", held.memoryMi ?? 0);
    }
    const totalKb = FAKE_FACTS.memoryBytes / 1024;
    const freeKb = totalKb - memoryMi * 1024;
    host.kernelFiles.set("/proc/meminfo", `MemTotal: ${totalKb} kB\nMemFree: ${freeKb} kB`);
    if (host.cgroups.version === 1) this.#setMemory("/", memoryMi);
    const { capacityBytes } = host.disk;
    const availableBytes = capacityBytes - diskMi * MI - runtime.store.totalBytes;
    host.disk = { ...host.disk, availableBytes };
    if (this.isShort) this.lastShortMs = clock.monotonic();
  }

  #setMemory(path: string, mi: number): void {
    const { cgroups } = this.world.host;
    if (!cgroups.paths.includes(path)) return;
    const file = cgroups.version === 1 ? "memory.usage_in_bytes" : "memory.current";
    cgroups.set(path, file, String(mi * MI));
  }
}
