import type { HintProvider } from "../api/ports/hint-provider.ts";
import type { PlacedResourceKind } from "../api/ports/resource-kinds.ts";
import { topologyOf } from "../config/topology.ts";
import { Topology } from "../pipeline/admission/topology/topology.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Foundation } from "./foundation.ts";

/** The topology manager, with a provider of hints for each kind of resources. */
export function assembleTopology(
  { options, outside, metrics }: Foundation,
  { devices, cpus, memory }: Pick<Subsystems, PlacedResourceKind>,
): Topology {
  const { clock, host } = outside;
  const settings = topologyOf(options.config, (path) => host.readKernel(path));
  const providers: Readonly<Record<PlacedResourceKind, HintProvider>> = { devices, cpus, memory };
  return new Topology(settings, { providers: Object.values(providers), metrics, clock });
}
