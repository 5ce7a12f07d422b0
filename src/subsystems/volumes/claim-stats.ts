import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { DiskUsage } from "../../outside/host/host.ts";

/** A mounted claim and where it is. */
export interface MountedClaim {
  readonly namespace: string;
  readonly name: string;
  readonly hostPath: string;
}

/** One figure of a claim's file system. */
const FIGURES: Readonly<
  Record<string, { readonly help: string; readonly of: (usage: DiskUsage) => number }>
> = {
  capacity_bytes: { help: "Capacity of the volume.", of: (usage) => usage.capacityBytes },
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
  readonly #measure: (path: string) => Promise<DiskUsage | undefined>;
  #known: readonly (MountedClaim & { readonly usage: DiskUsage })[] = [];

  constructor(
    measure: (path: string) => Promise<DiskUsage | undefined>,
    metrics: MetricsRegistry | undefined,
  ) {
    this.#measure = measure;
    for (const [name, { help, of }] of Object.entries(FIGURES))
      metrics?.collected({ name: `kubelet_volume_stats_${name}`, help, type: "gauge" }, () =>
        this.#known.map((claim) => ({
          labels: { namespace: claim.namespace, persistentvolumeclaim: claim.name },
          value: of(claim.usage),
        })),
      );
  }

  /** Measures the claims that are mounted now; those that are gone are forgotten. */
  async look(claims: readonly MountedClaim[]): Promise<void> {
    const byName = new Map(claims.map((claim) => [`${claim.namespace}/${claim.name}`, claim]));
    const measured = await Promise.all(
      [...byName.values()].map(async (claim) => {
        const usage = await this.#measure(claim.hostPath).catch(() => undefined);
        return usage ? [{ ...claim, usage }] : [];
      }),
    );
    this.#known = measured.flat();
  }
}
