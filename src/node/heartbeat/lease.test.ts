import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { Lease, Node } from "../../api/generated/types.ts";
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

test("keepLease returns whether each attempt was renewed, refused or not answered", async () => {
  const clock = new SimClock();
  const outcomes: LeaseOutcome[] = [];
  const transport = serverOf([undefined, 403, 507, 200, 200]);
  const stop = new AbortController();
  const kept = keepLease(
    { nodeName: "node", durationSeconds: 40 },
    {
      client: new KubeClient({}, { transport, clock, log: silentLog }),
      node: new Cell<Node | undefined>({ metadata: { uid: "a" } }),
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

const OWNER = { apiVersion: "v1", kind: "Node", name: "node" };

for (const [what, found, expected] of [
  ["no lease", undefined, ["waiting", "POST a"]],
  ["a lease that nobody owns", {}, ["waiting", "PUT a"]],
  ["a lease with an owner", { ownerReferences: [{ ...OWNER, uid: "b" }] }, ["PUT b", "PUT b"]],
] as const)
  test(`keepLease before the node is known: ${what}`, async () => {
    const clock = new SimClock();
    const story: string[] = [];
    const transport: ApiTransport = {
      ...serverOf([]),
      request: async ({ method, body }) => {
        if (method === "GET")
          return found
            ? { status: 200, headers: {}, body: JSON.stringify({ metadata: found }) }
            : { status: 404, headers: {}, body: JSON.stringify({ code: 404 }) };
        const { metadata } = JSON.parse(body ?? "") as Lease;
        const owners = metadata?.ownerReferences ?? [];
        story.push(`${method} ${owners.map(({ uid }) => uid).join(",")}`);
        return { status: 200, headers: {}, body: body ?? "" };
      },
    };
    const node = new Cell<Node | undefined>(undefined);
    const stop = new AbortController();
    const onAttempt = (outcome: LeaseOutcome) => {
      if (outcome !== "renewed") story.push(outcome);
    };
    const kept = keepLease(
      { nodeName: "node", durationSeconds: 40 },
      {
        client: new KubeClient({}, { transport, clock, log: silentLog }),
        node,
        clock,
        log: silentLog,
        onAttempt,
      },
      stop.signal,
    );
    await clock.advance(9_000);
    node.set({ metadata: { name: "node", uid: "a" } });
    // At once where the node was waited for, else with the next renewal.
    await clock.advance(found && "ownerReferences" in found ? 6_000 : 100);
    stop.abort();
    await kept;
    assert.deepEqual(story, expected);
  });
