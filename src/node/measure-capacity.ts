import { deriveEvictionHard, deriveReservations } from "../config/derive.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { UsageError } from "../kit/errors.ts";
import type { Host, HostFacts } from "../outside/host/host.ts";
import { type NodeCapacity, nodeCapacity, reservationProblem } from "./capacity.ts";

/** Measures capacity and allocatable resources. Throws `UsageError` when reservations exceed the capacity. */
export async function measureCapacity(
  { rootFolder, config }: { readonly rootFolder: string; readonly config: KubeletConfig },
  { host }: { readonly host: Pick<Host, "diskUsage"> },
  facts: HostFacts,
): Promise<NodeCapacity> {
  const storageBytes = (await host.diskUsage(rootFolder))?.capacityBytes ?? 0;
  const reserved = {
    ...config,
    ...deriveReservations(config),
    evictionHard: deriveEvictionHard(config),
  };
  const problem = reservationProblem(facts, storageBytes, reserved);
  if (problem !== undefined) throw new UsageError(problem);
  return nodeCapacity(facts, storageBytes, reserved);
}
