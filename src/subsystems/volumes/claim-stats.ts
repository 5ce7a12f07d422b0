import { METRICS } from "../../api/metrics/metrics.ts";
import type { CsiUsage } from "../../api/ports/csi-volumes.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { doneValues, inParallel } from "../../kit/in-parallel.ts";
import type { Histogram, MetricsRegistry } from "../../kit/metrics.ts";
import { NEVER_ABORTED, within } from "../../kit/within.ts";
import type { DiskUsage } from "../../outside/host/host.ts";

/** A mounted claim and where it is. */
export interface MountedClaim {
  readonly namespace: string;
  readonly name: string;
  /** Name of the volume in the pod's spec. */
  readonly volume: string;
  /** Empty for a block device. */
  readonly hostPath: string;
  /** Of a block device, `major:minor`. */
  readonly deviceNumber?: string;
  /** Asks whoever has the volume; without it the file system or the device itself is asked. */
  readonly measure?: () => Promise<CsiUsage | undefined>;
  /** Who that is, for metrics. */
  readonly measuredBy?: string;
}

/** Figures of a file system; those that are used may be said and not be the difference. */
type FileSystemUsage = Omit<DiskUsage, "device"> & Pick<CsiUsage, "usedBytes" | "inodesUsed">;

/** Of a block device only its size is known. */
type ClaimUsage = FileSystemUsage | Pick<DiskUsage, "capacityBytes">;

/** A claim that a pod has mounted, as last measured. */
export interface MeasuredMount extends Pick<MountedClaim, "namespace" | "name" | "volume"> {
  readonly usage: ClaimUsage;
  readonly atMs: WallMs;
}

type Known = Omit<MeasuredMount, "volume">;

/** How claims are measured. */
interface ClaimMeasures {
  readonly diskUsage: (path: string) => Promise<DiskUsage | undefined>;
  /** A file of /sys. */
  readonly readKernel: (path: string) => string | undefined;
  readonly clock: Clock;
}

/** The kernel counts the size of devices in these, whatever the device's own are. */
const SECTOR_BYTES = 512;
/** Claims measured side by side. */
const MEASURED_AT_ONCE = 4;
/** How long whoever has a volume may take to answer; what comes later counts for nothing. */
const ANSWER_MS = 10_000;

/** One figure of a claim's file system. */
interface Figure {
  readonly metric: (typeof METRICS)[
    | `kubelet_volume_stats_${"capacity" | "available" | "used"}_bytes`
    | `kubelet_volume_stats_inodes${"" | "_free" | "_used"}`];
  readonly of: (usage: FileSystemUsage) => number;
  /** Left out where a block device has no such figure. */
  readonly ofDevice?: (usage: Pick<DiskUsage, "capacityBytes">) => number;
}

const FIGURES: readonly Figure[] = [
  {
    metric: METRICS.kubelet_volume_stats_capacity_bytes,
    of: (usage) => usage.capacityBytes,
    ofDevice: (usage) => usage.capacityBytes,
  },
  {
    metric: METRICS.kubelet_volume_stats_available_bytes,
    of: (usage) => usage.availableBytes,
  },
  {
    metric: METRICS.kubelet_volume_stats_used_bytes,
    of: ({ capacityBytes, availableBytes, usedBytes = capacityBytes - availableBytes }) =>
      usedBytes,
  },
  { metric: METRICS.kubelet_volume_stats_inodes, of: (usage) => usage.inodes },
  { metric: METRICS.kubelet_volume_stats_inodes_free, of: (usage) => usage.inodesFree },
  {
    metric: METRICS.kubelet_volume_stats_inodes_used,
    of: ({ inodes, inodesFree, inodesUsed = inodes - inodesFree }) => inodesUsed,
  },
];

/** Usage of mounted claims as last measured (`kubelet_volume_stats_*`). */
export class ClaimStats {
  readonly #measures: ClaimMeasures;
  readonly #durations: Histogram<"metric_source"> | undefined;
  #known: ReadonlyMap<string, Known> = new Map();
  /** Claims whose measure has not answered yet. */
  readonly #asked = new Set<string>();

  constructor(measures: ClaimMeasures, metrics: MetricsRegistry | undefined) {
    this.#measures = measures;
    this.#durations = metrics?.histogram(METRICS.kubelet_volume_metric_collection_duration_seconds);
    for (const { metric, of, ofDevice } of FIGURES)
      metrics?.collected(metric, () =>
        [...this.#known.values()].flatMap(({ namespace, name: persistentvolumeclaim, usage }) => {
          const value = "inodes" in usage ? of(usage) : ofDevice?.(usage);
          return value === undefined
            ? []
            : [{ labels: { namespace, persistentvolumeclaim }, value }];
        }),
      );
  }

  /** Measures the claims that are mounted now; those that are gone are forgotten. */
  async measure(claims: readonly MountedClaim[]): Promise<void> {
    const { clock } = this.#measures;
    const byName = new Map(claims.map((claim) => [keyOf(claim), claim]));
    const measured = await inParallel([...byName], MEASURED_AT_ONCE, async ([key, claim]) => {
      const began = clock.monotonic();
      const usage = await this.#measure(claim).finally(() =>
        this.#durations?.observe((clock.monotonic() - began) / 1000, {
          metric_source:
            claim.measuredBy ?? (claim.deviceNumber === undefined ? "statfs" : "block"),
        }),
      );
      const { namespace, name } = claim;
      const atMs = clock.wall();
      return usage ? [[key, { namespace, name, usage, atMs }] as const] : [];
    });
    this.#known = new Map(doneValues(measured).flat());
  }

  /** Those of the claims that were measured. */
  measured(claims: readonly MountedClaim[]): readonly MeasuredMount[] {
    return claims.flatMap((claim) => {
      const known = this.#known.get(keyOf(claim));
      return known ? [{ ...known, volume: claim.volume }] : [];
    });
  }

  /** As the Go kubelet measures (volume/metrics_statfs.go, metrics_block.go). */
  async #measure(claim: MountedClaim): Promise<ClaimUsage | undefined> {
    const { diskUsage, readKernel } = this.#measures;
    const { hostPath, deviceNumber, measure } = claim;
    if (measure) return await this.#answered(keyOf(claim), measure);
    if (deviceNumber === undefined) return await diskUsage(hostPath);
    const sectors = Number(readKernel(`/sys/dev/block/${deviceNumber}/size`) ?? Number.NaN);
    return Number.isFinite(sectors) ? { capacityBytes: sectors * SECTOR_BYTES } : undefined;
  }

  /** One that does not answer holds up no other, and is not asked again before it has. */
  async #answered(
    key: string,
    measure: NonNullable<MountedClaim["measure"]>,
  ): Promise<ClaimUsage | undefined> {
    if (this.#asked.has(key)) return undefined;
    this.#asked.add(key);
    const asked = measure().finally(() => this.#asked.delete(key));
    const { clock } = this.#measures;
    const limit = { clock, ms: ANSWER_MS, what: `the volume of ${key}` };
    return usageOf(await within(limit, NEVER_ABORTED, () => asked));
  }
}

/** What was said as figures: what is missing is 0, as the Go kubelet shows it. */
function usageOf(usage: CsiUsage | undefined): ClaimUsage | undefined {
  if (usage?.capacityBytes === undefined) return undefined;
  const { capacityBytes, availableBytes, usedBytes, inodesUsed } = usage;
  if (availableBytes === undefined) return { capacityBytes };
  const { inodes = 0, inodesFree = 0 } = usage;
  return {
    capacityBytes,
    availableBytes,
    inodes,
    inodesFree,
    ...(usedBytes === undefined ? {} : { usedBytes }),
    ...(inodesUsed === undefined ? {} : { inodesUsed }),
  };
}

const keyOf = ({ namespace, name }: MountedClaim): string => `${namespace}/${name}`;
