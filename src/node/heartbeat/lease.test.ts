import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Cell } from "../../kit/cell.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { type ApiTransport, KubeClient } from "../../outside/kube/kube.ts";
import { keepLease, type LeaseOutcome } from "./lease.ts";

/** A server that answers requests with these status codes, one after the other, and `undefined` not at all. */
function serverOf(codes: readonly (number | undefined)[]): ApiTransport {
  const left = [...codes];
  return {
    request: async () => {
      const status = left.shift();
      if (status === undefined) throw new OutsideError("deadline", "no answer in time");
      return { status, headers: {}, body: JSON.stringify({ kind: "Lease", code: status }) };
    },
    watch: () => Promise.reject(new Error("a lease is not watched")),
    reachable: new Cell(true),
    close: () => {},
  };
}

test("keepLease tells whether each attempt was renewed, refused or not answered", async () => {
  const clock = new SimClock();
  const outcomes: LeaseOutcome[] = [];
  const transport = serverOf([undefined, 403, 507, 200, 200]);
  const stop = new AbortController();
  const kept = keepLease(
    { nodeName: "node", durationSeconds: 40 },
    {
      client: new KubeClient({}, { transport, clock, log: silentLog }),
      node: new Cell(undefined),
      clock,
      log: silentLog,
      onAttempt: (outcome) => outcomes.push(outcome),
    },
    stop.signal,
  );
  await clock.advance(5_000);
  stop.abort();
  await kept;
  assert.deepEqual(outcomes, ["unanswered", "refused", "refused", "renewed"]);
});
