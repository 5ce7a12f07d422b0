// Decisions for the tests of what the command line shows of them.
import type { DecisionInputs, DecisionKind, DecisionRecord } from "../../src/api/decisions.ts";
import { NOW } from "./pods.ts";

/** A decision on the pod `web-edge-1`, a minute ago. */
export function aDecision<K extends DecisionKind>(
  kind: K,
  rule: string,
  inputs: DecisionInputs[K],
  changes: Partial<DecisionRecord> = {},
): DecisionRecord {
  return {
    atMs: NOW - 60_000,
    sequence: 1,
    subject: { kind: "pod", name: "default/web-edge-1", uid: "uid-web-edge-1" },
    kind,
    rule,
    inputs: { ...inputs },
    ...changes,
  };
}
