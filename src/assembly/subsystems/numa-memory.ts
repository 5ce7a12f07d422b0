import { deriveRootLayout } from "../../config/derive.ts";
import { gatesInForce } from "../../config/gates/feature-gates.ts";
import { readMachineTopology } from "../../config/machine/read-machine.ts";
import { podLevelOf } from "../../config/topology.ts";
import {
  configuredNodes,
  NumaMemory,
  type NumaMemoryOptions,
} from "../../subsystems/numa-memory/numa-memory.ts";
import type { Foundation } from "../foundation.ts";

/** The memory manager, with what was assigned before a restart. Throws `UsageError`. */
export async function assembleNumaMemory(base: Foundation): Promise<NumaMemory> {
  const { options, outside, state, metrics } = base;
  const { config, rootFolder } = options;
  const nodes = config.memoryManagerPolicy === "Static" ? nodesOf(base) : undefined;
  const file = deriveRootLayout(rootFolder, config.podLogsDir).state.memoryManager;
  const log = outside.log.child("memory");
  const resizes = gatesInForce(config).isEnabled("InPlacePodVerticalScalingExclusiveMemory");
  const memory = new NumaMemory(
    { nodes, file, resizes, podLevel: podLevelOf(config) },
    { state, metrics, log },
  );
  await memory.start();
  return memory;
}

function nodesOf({ options, outside, facts }: Foundation): NumaMemoryOptions["nodes"] {
  const { nodes } = readMachineTopology((path) => outside.host.readKernel(path));
  return configuredNodes(options.config, nodes, facts.memoryBytes);
}
