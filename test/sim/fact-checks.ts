// What other modules know of pods is what the records of the pods say.
import type { RunningAgent } from "../../src/agent.ts";
import { isSameFact } from "../../src/api/pod-facts.ts";
import { factOf } from "../../src/pipeline/pods/record/pod-fact.ts";

/** The first difference between facts and records; undefined when there is none. */
export function wrongFact({ pipeline }: RunningAgent): string | undefined {
  const { pods, podFacts } = pipeline;
  const records = pods.list();
  for (const record of records) {
    const fact = podFacts.get(record.uid);
    if (!fact || !isSameFact(fact, factOf(record)))
      return `of pod ${record.uid} others know ${fact?.life}${fact?.busy ? ", busy" : ""}, but it is ${record.life.kind}, ${record.sync.freshness}`;
  }
  const facts = podFacts.values();
  if (facts.length === records.length) return undefined;
  return `others know ${facts.length} pods, but there are ${records.length}`;
}
