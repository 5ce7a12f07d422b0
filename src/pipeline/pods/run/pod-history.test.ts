import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anAttempt, aPod, aRecord } from "../../../../test/support/pods.ts";
import type { LimitHits, PodPorts } from "../ports.ts";
import { PodLimitHits } from "./limit-hits.ts";
import { exitsSince } from "./pod-history.ts";

const of = (memory: string) => ({ resources: { limits: { memory } } });
const pod = aPod({
  containers: [aContainer("a", of("64Mi")), aContainer("b", of("96Mi"))],
  ...of("128Mi"),
});

/** Limits of containers that were OOM-killed together, as they are recorded. */
function limitsOf(names: readonly string[], hits: LimitHits | undefined): readonly unknown[] {
  const before = aRecord({ pod, containers: ["a", "b"].map((name) => anAttempt(name)) });
  const containers = names.map((name) =>
    anAttempt(name, { state: "exited", exitCode: 137, reason: "OOMKilled" }),
  );
  const record = aRecord({ pod, containers });
  return exitsSince(before.observed, { record, limitHits: () => hits }).map(
    ({ decision: { inputs } }) => ("limit" in inputs ? [inputs.limitOf, inputs.limit] : []),
  );
}

test("exitsSince names the limit that an OOM kill was for, as far as the kernel reports it", () => {
  const unknown = ["container or pod", "64Mi or 128Mi"];
  for (const [hits, expected] of [
    [{ count: 0, exact: true }, ["container", "64Mi"]],
    [{ count: 0, exact: false }, ["container", "64Mi"]],
    [{ count: 1, exact: true }, ["pod", "128Mi"]],
    [{ count: 3, exact: false }, unknown],
    [undefined, unknown],
  ] as const)
    assert.deepEqual(limitsOf(["a"], hits), [expected], JSON.stringify(hits));
  // One of two kills was for the limit of the pod: nobody knows which.
  assert.deepEqual(limitsOf(["a", "b"], { count: 1, exact: true }), [
    unknown,
    ["container or pod", "96Mi or 128Mi"],
  ]);
});

test("PodLimitHits counts what came since it was last asked", () => {
  const counts: (number | undefined)[] = [5, 5, 7, undefined, 9, 1];
  const memory: PodPorts["memory"] = {
    limitHits: () => {
      const count = counts.shift();
      return count === undefined ? undefined : { count, exact: true };
    },
  };
  const hits = new PodLimitHits(memory, pod);
  const since = [1, 2, 3, 4, 5].map(() => hits.since(pod)?.count);
  assert.deepEqual(since, [0, 2, undefined, 2, 1]);
  const free = aPod({ containers: [aContainer("a", of("64Mi"))] });
  assert.equal(new PodLimitHits(memory, free).since(free), undefined);
});
