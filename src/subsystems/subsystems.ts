/** The subsystems. One capability each; none knows another, and none knows of pods' lives but by facts and news. */
import type { Cgroups } from "./cgroups/cgroups.ts";
import type { ExclusiveCpus } from "./cpus/cpus.ts";
import type { Csi } from "./csi/csi.ts";
import type { Devices } from "./devices/devices.ts";
import type { Environments } from "./environment/environment.ts";
import type { Events } from "./events/events.ts";
import type { Images } from "./images/images.ts";
import type { Journal } from "./journal/journal.ts";
import type { Logs } from "./logs/logs.ts";
import type { Neighbors } from "./neighbors/neighbors.ts";
import type { NumaMemory } from "./numa-memory/numa-memory.ts";
import type { Probes } from "./probes/probes.ts";
import type { ResourceClaims } from "./resource-claims/resource-claims.ts";
import type { Runtime } from "./runtime/runtime.ts";
import type { Stats } from "./stats/stats.ts";
import type { Volumes } from "./volumes/volumes.ts";

/** All subsystems, as they run. */
export interface Subsystems {
  readonly cgroups: Cgroups;
  readonly cpus: ExclusiveCpus;
  readonly csi: Csi;
  readonly devices: Devices;
  readonly environments: Environments;
  readonly events: Events;
  readonly images: Images;
  readonly journal: Journal;
  readonly logs: Logs;
  readonly memory: NumaMemory;
  readonly neighbors: Neighbors;
  readonly probes: Probes;
  readonly resourceClaims: ResourceClaims;
  readonly runtime: Runtime;
  readonly stats: Stats;
  readonly volumes: Volumes;
}
