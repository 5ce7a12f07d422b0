import { type EvictionSignal, isEvictionSignal } from "../../api/node/eviction-signals.ts";
import { type EvictionAmount, readEvictionAmount } from "../../config/eviction-thresholds.ts";
import { type Call, replyJson, type ServedRoute } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import type { ServedNode } from "../served-node.ts";

/** Routes that show the result of an eviction pass without executing it; on the agent's own socket only. */
export function evictionRoutes({ eviction }: ServedNode): readonly ServedRoute[] {
  return [
    {
      endpoints: ["local"],
      access: { subresources: ["proxy"] },
      pattern: "/nodelet/v1/eviction",
      methods: ["GET"],
      handler: async (call) =>
        replyJson(call, await eviction.preview(thresholdsOf(call), call.signal)),
    },
  ];
}

/** Hard thresholds to be tried in place of the node's own: `memory.available=100Mi`. */
function thresholdsOf({ query }: Call): ReadonlyMap<EvictionSignal, EvictionAmount> {
  const thresholds = new Map<EvictionSignal, EvictionAmount>();
  for (const [signal, text] of query) {
    if (!isEvictionSignal(signal))
      throw new HttpProblem(400, `${signal.slice(0, 40)} is not an eviction signal\n`);
    const reading = readEvictionAmount(text);
    if (!reading.ok)
      throw new HttpProblem(400, `${signal}=${text.slice(0, 40)}: ${reading.error}\n`);
    thresholds.set(signal, reading.amount);
  }
  return thresholds;
}
