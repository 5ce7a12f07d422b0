import type { Clock, WallMs } from "../../kit/clock.ts";
import { doneValues, inParallel } from "../../kit/in-parallel.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
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
}

/** Of a block device only its size is known. */
export type ClaimUsage = DiskUsage | Pick<DiskUsage, "capacityBytes">;

/** A claim that a pod has mounted, as last measured. */
export interface MeasuredMount extends Pick<MountedClaim, "namespace" | "name" | "volume"> {
  readonly usage: ClaimUsage;
  readonly atMs: WallMs;
}

type Known = Omit<MeasuredMount, "volume">;

/** How claims are measured. */
export interface ClaimMeasures {
  readonly diskUsage: (path: string) => Promise<DiskUsage | undefined>;
  /** A file of /sys. */
  readonly readKernel: (path: string) => string | undefined;
  readonly clock: Clock;
}

/** The kernel counts the size of devices in these, whatever the device's own are. */
const SECTOR_BYTES = 512;
/** Claims measured side by side. */
const MEASURED_AT_ONCE = 4;

/** One figure of a claim's file system. */
const FIGURES: Readonly<
  Record<
    string,
    {
      readonly help: string;
      readonly of: (usage: DiskUsage) => number;
      /** Left out where a block device has no such figure. */
      readonly ofDevice?: (usage: Pick<DiskUsage, "capacityBytes">) => number;
    }
  >
> = {
  capacity_bytes: {
    help: "Capacity of the volume.",
    of: (usage) => usage.capacityBytes,
    ofDevice: (usage) => usage.capacityBytes,
  },
  available_bytes: { help: "Bytes free in the volume.", of: (usage) => usage.availableBytes },
  used_bytes: {
    help: "Bytes used in the volume.",
    of: ({ capacityBytes, availableBytes }) => capacityBytes - availableBytes,
  },
  inodes: { help: "Inodes of the volume.", of: (usage) => usage.inodes },
  inodes_free: { help: "Inodes free in the volume.", of: (usage) => usage.inodesFree },
  inodes_used: {
    help: "Inodes used in the volume.",
    of: ({ inodes, inodesFree }) => inodes - inodesFree,
  },
};

/** Usage of mounted claims as last measured (`kubelet_volume_stats_*`). */
export class ClaimStats {
  readonly #measures: ClaimMeasures;
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(measures: ClaimMeasures, metrics: MetricsRegistry | undefined) {
    this.#measures = measures;
    for (const [name, { help, of, ofDevice }] of Object.entries(FIGURES))
      metrics?.collected({ name: `kubelet_volume_stats_${name}`, help, type: "gauge" }, () =>
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
    const byName = new Map(claims.map((claim) => [keyOf(claim), claim]));
    const measured = await inParallel([...byName], MEASURED_AT_ONCE, async ([key, claim]) => {
      const usage = await this.#measure(claim);
      const { namespace, name } = claim;
      const atMs = this.#measures.clock.wall();
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
  async #measure({ hostPath, deviceNumber }: MountedClaim): Promise<ClaimUsage | undefined> {
    const { diskUsage, readKernel } = this.#measures;
    if (deviceNumber === undefined) return await diskUsage(hostPath);
    const sectors = Number(readKernel(`/sys/dev/block/${deviceNumber}/size`) ?? Number.NaN);
    return Number.isFinite(sectors) ? { capacityBytes: sectors * SECTOR_BYTES } : undefined;
  }
}

const keyOf = ({ namespace, name }: MountedClaim): string => `${namespace}/${name}`;
