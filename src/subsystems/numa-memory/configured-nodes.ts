// pure
/** The memory of the nodes that a configuration leaves to containers. */
import type { MachineTopology } from "../../api/node/machine-topology.ts";
import { thresholdBytes } from "../../api/node/threshold-bytes.ts";
import { wholeOf } from "../../api/text/quantity.ts";
import { deriveEvictionHard } from "../../config/derive.ts";
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import type { NumaCapacity } from "./memory-state.ts";
import { readNodes } from "./read-nodes.ts";

/** `memoryBytes` is all memory of the machine. Throws `UsageError` where the reservations do not fit the machine. */
export function configuredNodes(
  config: KubeletConfig,
  nodes: MachineTopology["nodes"],
  memoryBytes: number,
): readonly NumaCapacity[] {
  const { systemReserved, kubeReserved, reservedMemory } = config;
  const threshold = deriveEvictionHard(config)["memory.available"];
  return readNodes({
    nodes,
    reserved: reservedMemory,
    keptBytes:
      wholeOf(systemReserved["memory"] ?? "0") +
      wholeOf(kubeReserved["memory"] ?? "0") +
      thresholdBytes(threshold, memoryBytes),
  });
}
