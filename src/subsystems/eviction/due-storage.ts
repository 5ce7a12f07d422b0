// pure
import type { Pod } from "../../api/generated/types.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { localHeadroom } from "./local-limits.ts";
import type { DiskLayout } from "./signals.ts";
import type { PodUsage } from "./usage.ts";

/** Available bytes of each file system that local storage lies on, by device. */
export type AvailableByDevice = ReadonlyMap<number, number>;

/** A pod is measured at least this often, whatever its file systems report. */
const MAX_AGE_MS = 60_000;
/** Samples that are kept; rounds are at least a second apart. */
const MAX_SAMPLES = 64;
/** The part of a pod's headroom by which file systems may change before it is measured again. */
const CHANGE_PER_HEADROOM = 0.5;

/** How much the available bytes have changed up or down since the first sample. */
interface Sample {
  readonly atMs: WallMs;
  readonly changedBytes: number;
}

/** A pod as it was measured last. */
interface Measured {
  readonly at: MonotonicMs;
  /** Of the latest sample that is not younger than any figure of the pod. */
  readonly changedBytes: number;
  readonly headroomBytes: number;
}

/**
 * Which pods may have exceeded a limit on local storage since they were measured. Who writes as much as is left up to a
 * limit changes what is available on the file system by as much, so where that has changed by less than half of it, the
 * pod is within its limit still. Only where others free the same amount at the same time, or a file system reports late
 * what was written (btrfs until it commits) or shares it (reflinks), a pod is found by its maximum age.
 */
export class DueStorage {
  /** Oldest first. */
  #samples: Sample[] = [];
  #available: AvailableByDevice | undefined;
  readonly #pods = new Map<string, Measured>();

  /**
   * A round begins, and no pod has been measured in it. `available` was measured at `atMs` at the latest; without it, or
   * where it does not show every change, all pods are due.
   */
  begin(atMs: WallMs, available: AvailableByDevice | undefined): void {
    const changed = changeBetween(this.#available, available);
    this.#available = available;
    const last = this.#samples.at(-1);
    if (changed === undefined || available === undefined) {
      this.#samples = [];
      this.#pods.clear();
    }
    if (available === undefined) return;
    this.#samples.push({ atMs, changedBytes: (last?.changedBytes ?? 0) + (changed ?? 0) });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** The pods that are to be measured now, of all that have limits; others are forgotten. */
  dueOf<P extends { readonly uid: string }>(limited: readonly P[], now: MonotonicMs): readonly P[] {
    const there = new Set(limited.map(({ uid }) => uid));
    for (const uid of this.#pods.keys()) if (!there.has(uid)) this.#pods.delete(uid);
    return limited.filter(({ uid }) => this.#isDue(uid, now));
  }

  /** Keeps what pods were measured with; one of which a figure is missing, or older than all samples, stays due. */
  note(
    pods: readonly { readonly uid: string; readonly pod: Pod }[],
    { usages, layout, now }: Figures,
  ): void {
    for (const { uid, pod } of pods) {
      const usage = usages.get(uid);
      const headroom = usage && localHeadroom(pod, usage, layout);
      const sample = headroom && this.#samples.findLast(({ atMs }) => atMs <= headroom.atMs);
      if (!sample) this.#pods.delete(uid);
      else {
        const { changedBytes } = sample;
        this.#pods.set(uid, { at: now, changedBytes, headroomBytes: headroom.bytes });
      }
    }
  }

  #isDue(uid: string, now: MonotonicMs): boolean {
    const known = this.#pods.get(uid);
    const sample = this.#samples.at(-1);
    if (!known || !sample || now - known.at >= MAX_AGE_MS) return true;
    const changed = sample.changedBytes - known.changedBytes;
    return changed >= known.headroomBytes * CHANGE_PER_HEADROOM;
  }
}

/** What pods were measured with in the round that began at `now`. */
interface Figures {
  readonly usages: ReadonlyMap<string, PodUsage>;
  readonly layout: DiskLayout;
  readonly now: MonotonicMs;
}

/** Undefined where changes cannot be computed: other file systems than before, or one of which nothing is available. */
function changeBetween(
  before: AvailableByDevice | undefined,
  now: AvailableByDevice | undefined,
): number | undefined {
  if (!before || !now || before.size !== now.size) return undefined;
  let changed = 0;
  for (const [device, bytes] of now) {
    const known = before.get(device);
    // What root writes into its reserve does not show: nothing is available then, before and after.
    if (known === undefined || known <= 0 || bytes <= 0) return undefined;
    changed += Math.abs(bytes - known);
  }
  return changed;
}
