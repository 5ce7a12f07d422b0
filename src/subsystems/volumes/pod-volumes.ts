import type { Volume } from "../../api/generated/types.ts";
import type { PodPaths } from "../../api/pod/pod-paths.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { type PodNews, VOLUMES_PROGRESS } from "../../api/pod-news.ts";
import { type VolumeStep, VolumeStepError, VolumeWaits } from "../../api/volume-step.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { allValues, inParallel } from "../../kit/in-parallel.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { MountedClaim } from "./claim-stats.ts";
import type { KindDeps, MadeVolume, VolumeKind, VolumeRequest } from "./kind.ts";
import { volumeKindOf } from "./kinds.ts";
import type { CountedVolume, VolumeMeasures } from "./volume-measures.ts";

interface PodVolumesDeps extends KindDeps {
  readonly measures: VolumeMeasures;
  /** Called for every failure to make a volume. */
  readonly news: Publisher<PodNews>;
}

/** Folders of the pod that volumes use. */
type VolumePaths = Pick<PodPaths, "volumes" | "volumeDevices" | "plugins">;

interface Entry {
  readonly volume: Volume;
  readonly kind: VolumeKind | undefined;
  made: MadeVolume | undefined;
  /** A run that will see what changed is about to begin. */
  queued: boolean;
  /** It was made but could not be brought up to date since. */
  behind: boolean;
  /** The last run, so that no two make the same volume at once. */
  running: Promise<unknown>;
  lastFault: { readonly message: string; readonly at: MonotonicMs } | undefined;
}

/** The same message is not reported twice within this time: the first answer about an object wakes all volumes that wait for it. */
const SAME_FAULT_MS = 400;

/** Volumes of one pod that are made side by side. */
const MADE_AT_ONCE = 8;

/** The volumes of one pod: made, followed, brought up to date, until closed. */
export class PodVolumes {
  readonly #paths: VolumePaths;
  readonly #deps: PodVolumesDeps;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #closing = new AbortController();
  readonly #stops: (() => void)[] = [];
  readonly #listeners = new Set<() => void>();
  /** When they were first asked for. */
  readonly #since: MonotonicMs;
  #pod: IdentifiedPod;
  #shown: string;

  constructor(pod: IdentifiedPod, paths: VolumePaths, deps: PodVolumesDeps) {
    this.#pod = pod;
    this.#shown = shownOf(pod);
    this.#paths = paths;
    this.#deps = deps;
    this.#since = deps.clock.monotonic();
    const { volumes = [] } = pod.spec ?? {};
    this.#entries = new Map(
      volumes.map((volume) => [volume.name, entryOf(volume, volumeKindOf(volume))] as const),
    );
    for (const entry of this.#entries.values()) this.#follow(entry);
  }

  /** The volumes that are there, by name. */
  get made(): ReadonlyMap<string, MadeVolume> {
    return new Map(
      [...this.#entries].flatMap(([name, { made }]) => (made ? [[name, made] as const] : [])),
    );
  }

  /** Every volume as metrics count it; kinds that are not supported are left out. */
  get counted(): readonly CountedVolume[] {
    return [...this.#entries.values()].flatMap(({ volume: { name }, kind, made }) =>
      kind === undefined
        ? []
        : [{ ...made, pod: this.#pod, name, plugin: kind.plugin, isMade: made !== undefined }],
    );
  }

  /** Takes all of them away by `act`, and measures that for each. */
  async takeAway(act: () => Promise<void>): Promise<void> {
    const { clock, measures } = this.#deps;
    const since = clock.monotonic();
    const present = this.counted.filter(({ isMade }) => isMade);
    const ends = present.map(({ plugin }) => measures.begin(plugin, "volume_unmount"));
    try {
      await act();
      for (const ended of ends) ended(true);
      for (const { plugin } of present) this.#completed(plugin, "volume_unmount", since);
    } catch (error) {
      for (const ended of ends) ended(false);
      throw error;
    }
  }

  /** The claims among them. */
  get claims(): readonly MountedClaim[] {
    const namespace = this.#pod.metadata.namespace;
    const claims: MountedClaim[] = [];
    // For each pod every ten seconds: most have none, and nothing is allocated for them.
    for (const [volume, { made }] of this.#entries) {
      if (made?.claim === undefined) continue;
      const { claim: name, hostPath, deviceNumber, measure, measuredBy } = made;
      claims.push({
        namespace,
        name,
        volume,
        hostPath,
        ...(deviceNumber ? { deviceNumber } : {}),
        ...(measure ? { measure } : {}),
        ...(measuredBy ? { measuredBy } : {}),
      });
    }
    return claims;
  }

  /** Names of those that are not. */
  get missing(): readonly string[] {
    return [...this.#entries].flatMap(([name, { made }]) => (made ? [] : [name]));
  }

  /** Tries everything that is missing, side by side; failures are reported and stay missing. */
  async makeMissing(signal: AbortSignal): Promise<void> {
    const missing = [...this.#entries.values()].filter(({ made }) => !made);
    const made = await inParallel(missing, MADE_AT_ONCE, (entry) =>
      this.#make(entry, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        this.#fault(entry, error);
      }),
    );
    allValues(made);
  }

  /** Calls `onChange` whenever something that a volume shows has changed, until the returned function is called. */
  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  /** The pod is another version of itself: what shows it is made again, if it shows anything else now. */
  podChanged(pod: IdentifiedPod): void {
    if (pod === this.#pod) return;
    const shown = shownOf(pod);
    const isSame = shown === this.#shown;
    this.#pod = pod;
    this.#shown = shown;
    if (isSame) return;
    for (const entry of this.#entries.values())
      if (entry.kind?.showsPod?.(entry.volume)) this.#refresh(entry);
  }

  /** Renews what expires, and checks what may have to grow. */
  refreshAging(): void {
    for (const entry of this.#entries.values())
      if (entry.kind?.ages?.(entry.volume) || entry.made?.ages || entry.behind)
        this.#refresh(entry);
  }

  /** Follows nothing any more; resolves when nothing is being made. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the volumes are being removed"));
    for (const stop of this.#stops.splice(0)) stop();
    for (const { running } of this.#entries.values()) await running.catch(() => {});
  }

  #follow(entry: Entry): void {
    const request = this.#requestOf(entry.volume);
    for (const { resource, namespace, name } of entry.kind?.follows?.(request) ?? []) {
      const stop = this.#deps.objects?.follow(resource, { namespace, name }, () => {
        this.#refresh(entry);
      });
      if (stop) this.#stops.push(stop);
    }
    const kept = entry.kind?.keeps?.(request, this.#deps, () => this.#refresh(entry)) ?? [];
    appendAll(this.#stops, kept);
    const stopWakes = entry.kind?.wakes?.(this.#deps, () => {
      if (!entry.made) this.#wake();
    });
    if (stopWakes) this.#stops.push(stopWakes);
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Brings a volume up to date; several changes at once make for one more run. */
  #refresh(entry: Entry): void {
    this.#wake();
    if (!entry.made || entry.queued || this.#closing.signal.aborted) return;
    entry.queued = true;
    void this.#make(entry, this.#closing.signal).catch((error: unknown) => {
      if (this.#closing.signal.aborted) return;
      entry.behind = true;
      this.#fault(entry, error);
    });
  }

  async #make(entry: Entry, signal: AbortSignal): Promise<void> {
    const before = entry.running;
    const run = (async () => {
      await before.catch(() => {});
      signal.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      entry.queued = false;
      const { kind, volume } = entry;
      if (!kind) throw new OutsideError("unimplemented", "this kind of volume is not supported");
      const isNew = entry.made === undefined;
      entry.made = await this.#setUp(kind, volume, signal);
      if (isNew) this.#completed(kind.plugin, "volume_mount", this.#since);
      const { fault } = entry.made;
      entry.behind = fault !== undefined;
      if (fault === undefined) entry.lastFault = undefined;
      else this.#fault(entry, new Error(fault));
    })();
    entry.running = run;
    await run;
  }

  async #setUp(kind: VolumeKind, volume: Volume, signal: AbortSignal): Promise<MadeVolume> {
    const ended = this.#deps.measures.begin(kind.plugin, "volume_mount");
    try {
      const made = await kind.setUp(this.#requestOf(volume), this.#deps, signal);
      ended(made.fault === undefined);
      return made;
    } catch (error) {
      if (!signal.aborted) ended(false);
      throw error;
    }
  }

  #completed(plugin: string, operation: "volume_mount" | "volume_unmount", since: number): void {
    const { clock, measures } = this.#deps;
    measures.completed(plugin, operation, clock.monotonic() - since);
  }

  #requestOf(volume: Volume): VolumeRequest {
    const { volumes: folder, volumeDevices: devices, plugins } = this.#paths;
    return { pod: this.#pod, volume, folder, devices, plugins };
  }

  #fault(entry: Entry, error: unknown): void {
    const step = error instanceof VolumeStepError ? error.at : setUpOf(entry.volume);
    const { reason } = step;
    const message = faultText(step, messageOf(error));
    const at = this.#deps.clock.monotonic();
    const { lastFault: last } = entry;
    entry.lastFault = { message, at };
    // A failure of a mounted volume is reported once: its containers continue with what they have.
    const isSaid = last?.message === message && (entry.made || at - last.at < SAME_FAULT_MS);
    if (isSaid) return;
    const { events, news } = this.#deps;
    const isWaiting = error instanceof VolumeWaits;
    if (!isWaiting) events.ofPod(this.#pod, { type: "Warning", reason, message });
    const { uid } = this.#pod.metadata;
    news.publish({ kind: "progress", uid, container: VOLUMES_PROGRESS, message });
  }
}

const entryOf = (volume: Volume, kind: VolumeKind | undefined): Entry => ({
  volume,
  kind,
  made: undefined,
  lastFault: undefined,
  queued: false,
  behind: false,
  running: Promise.resolve(),
});

/** In the Go kubelet's words (operation_generator.go). */
const faultText = ({ step, volume }: VolumeStep, why: string): string =>
  `${step}${step.includes(" failed") ? "" : " failed"} for volume "${volume}" : ${why}`;

const setUpOf = ({ name }: Volume): VolumeStep => ({
  step: "MountVolume.SetUp",
  volume: name,
  reason: "FailedMount",
});

/** All that volumes can show of a pod and that changes while it runs. */
function shownOf({ metadata, spec }: IdentifiedPod): string {
  const { labels, annotations } = metadata ?? {};
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const resources = containers.map((container) => container.resources);
  return JSON.stringify([labels, annotations, spec?.resources, resources]);
}
