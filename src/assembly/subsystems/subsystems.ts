/** The subsystems, in the order in which they stand on one another. They know nothing of pods' lives. */
import { messageOf } from "../../kit/errors.ts";
import type { Events } from "../../subsystems/events/events.ts";
import { instrumentRuntime } from "../../subsystems/runtime/runtime.ts";
import type { Subsystems } from "../../subsystems/subsystems.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";
import { assembleCgroups } from "./cgroups.ts";
import { assembleCpus } from "./cpus.ts";
import { assembleCsi } from "./csi.ts";
import { assembleDevices } from "./devices.ts";
import { assembleEnvironments } from "./environments.ts";
import { assembleEvents } from "./events.ts";
import { assembleImages } from "./images.ts";
import { assembleJournal } from "./journal.ts";
import { assembleLogs } from "./logs.ts";
import { assembleNeighbors } from "./neighbors.ts";
import { assembleNumaMemory } from "./numa-memory.ts";
import { assembleProbes } from "./probes.ts";
import { assembleResourceClaims } from "./resource-claims.ts";
import { assembleRuntime } from "./runtime.ts";
import { assembleStats } from "./stats.ts";
import { assembleVolumes } from "./volumes.ts";

/** Assembles every subsystem; throws when configuration and machine do not fit together. */
export async function assembleSubsystems(base: Foundation, api: ApiClients): Promise<Subsystems> {
  const events = await assembleEvents(base, api);
  try {
    return await assembleOthers(base, api, events);
  } catch (error) {
    if (!base.scope.signal.aborted)
      events.ofNode({ type: "Warning", reason: "KubeletSetupFailed", message: messageOf(error) });
    throw error;
  }
}

async function assembleOthers(
  base: Foundation,
  api: ApiClients,
  events: Events,
): Promise<Subsystems> {
  const cri = instrumentRuntime(base.outside.cri, base.outside.clock, base.metrics);
  const neighbors = await assembleNeighbors(base);
  const journal = await assembleJournal(base);
  const cpus = await assembleCpus(base, { runtime: cri.runtime, journal });
  const cgroups = await assembleCgroups(base, { runtime: cri.runtime, cpus, events });
  const runtime = await assembleRuntime(base, api, { cri, cgroups, cpus, events });
  const resourceClaims = await assembleResourceClaims(base, api, {
    cri,
    events,
    journal,
    runtime,
  });
  const devices = await assembleDevices(base, { events, journal });
  const memory = await assembleNumaMemory(base);
  const images = await assembleImages(base, api, { cri, events, journal });
  const logs = assembleLogs(base, cri);
  const probes = assembleProbes(base, { runtime: cri.runtime, cgroups, events });
  const csi = await assembleCsi(base, api, { events });
  const volumes = assembleVolumes(base, api, { csi, events });
  const stats = assembleStats(base, { cri, cgroups, volumes });
  const environments = assembleEnvironments(base, api, { events, volumes });
  return {
    events,
    journal,
    cgroups,
    cpus,
    csi,
    runtime,
    devices,
    images,
    logs,
    memory,
    neighbors,
    probes,
    resourceClaims,
    stats,
    volumes,
    environments,
  };
}
