import { takeLastExit } from "../node/last-exit.ts";
import { startNode } from "../node/node.ts";
import { recordLifetime } from "../node/record-lifetime.ts";
import { recordStarting } from "../node/record-starting.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Foundation } from "./foundation.ts";

/** The loops that concern the node as a whole. */
export async function assembleNode(
  { options, hooks, outside, scope, metrics, facts, node, oomCounts }: Foundation,
  { subsystems, pipeline }: { readonly subsystems: Subsystems; readonly pipeline: Pipeline },
): Promise<void> {
  const { config, rootFolder, nodeName, server } = options;
  const roots = { root: rootFolder, logs: config.podLogsDir };
  startNode(
    { roots, config },
    { ...subsystems, outside, scope, pipeline, metrics, node, oomCounts },
  );
  recordStarting(subsystems.events, outside.host, facts);
  const version = server?.versions.nodelet;
  const lastExit = await takeLastExit(rootFolder, outside.host.files);
  recordLifetime({ nodeName, version, leave: hooks.leave, lastExit }, { ...subsystems, scope });
}
