import type { PodUid } from "../../api/observation.ts";
import { deriveRootLayout } from "../../config/derive.ts";
import type { ContainerRuntime } from "../../outside/cri/cri.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Journal } from "../../subsystems/journal/journal.ts";
import { ResourceClaims } from "../../subsystems/resource-claims/resource-claims.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

interface ClaimParts {
  readonly cri: Pick<ContainerRuntime, "runtime">;
  readonly events: Events;
  readonly journal: Journal;
  readonly runtime: Runtime;
}

/** Resource claims: what was prepared before a restart is known, drivers may come. Throws `UsageError`. */
export async function assembleResourceClaims(
  { options, outside, scope, state, metrics, podFacts, news }: Foundation,
  { client }: Pick<ApiClients, "client">,
  { cri, events, journal, runtime }: ClaimParts,
): Promise<ResourceClaims> {
  const { clock, random, grpc } = outside;
  const { config, rootFolder, nodeName } = options;
  const claims = new ResourceClaims(
    { file: deriveRootLayout(rootFolder, config.podLogsDir).state.draManager, nodeName },
    {
      grpc,
      client,
      clock,
      random,
      scope,
      state,
      metrics,
      events,
      decisions: journal,
      news,
      log: outside.log.child("claims"),
      pods: podFacts,
      runtime: {
        version: (signal) => cri.runtime.version(signal),
        describe: async (signal) => (await outside.cri.selfDescription?.(signal)) ?? {},
      },
      isInRuntime: async (uid: PodUid, signal) => {
        const found = await runtime.observe(uid, signal);
        // What was observed is no change to the next listing: an orphan that could not be read before would never be found.
        news.publish({ kind: "found", found });
        if (found.kind !== "observed") return true;
        const { sandboxes, containers } = found.observed;
        return (
          sandboxes.some(({ stopped }) => !stopped) ||
          containers.some(({ state: now }) => now !== "exited")
        );
      },
    },
  );
  await claims.start();
  return claims;
}
