import { type Events, startEvents } from "../../subsystems/events/events.ts";
import type { ApiClients } from "../clients.ts";
import type { Foundation } from "../foundation.ts";

/** Events, written to the API server or its replacement; without either they stay on the node. */
export function assembleEvents(
  { options, outside, scope, state, metrics, node }: Foundation,
  { eventApi }: Pick<ApiClients, "eventApi">,
): Promise<Events> {
  const { config, nodeName, rootFolder, events: policy } = options;
  const { clock, random } = outside;
  return startEvents(
    {
      nodeName,
      folder: `${rootFolder}/nodelet/events`,
      rate: { qps: config.eventRecordQPS, burst: config.eventBurst },
      ...(policy ? { policy } : {}),
    },
    {
      clock,
      random,
      metrics,
      scope,
      state,
      node,
      log: outside.log.child("events"),
      ...(eventApi ? { api: eventApi } : {}),
    },
  );
}
