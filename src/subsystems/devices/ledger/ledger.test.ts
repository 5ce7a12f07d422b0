import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { PodUid } from "../../../api/observation.ts";
import { InvariantError } from "../../../kit/errors.ts";
import {
  EMPTY_LEDGER,
  findHolding,
  type Holding,
  type Ledger,
  ledgerFaults,
  ownerOf,
  release,
  releaseContainers,
  withHolding,
  withPod,
} from "./ledger.ts";

function holding(
  podUid: string,
  container: string,
  ids: readonly string[],
  resource = "v.com/gpu",
): Holding {
  return {
    podUid: podUid as PodUid,
    container,
    resource,
    devices: ids.map((id) => ({ id, nodes: [] })),
    answer: undefined,
    state: "granted",
    since: undefined,
  };
}

const A = "a" as PodUid;

test("a device of one pod is not given to another", () => {
  const ledger = withHolding(EMPTY_LEDGER, holding("a", "c", ["d1", "d2"]));
  assert.throws(
    () => withHolding(ledger, holding("b", "c", ["d2"])),
    new InvariantError("device d2 of v.com/gpu belongs to pod a and was to be allocated to pod b"),
  );
  assert.equal(ownerOf(ledger, "v.com/gpu", "d2"), "a");
  assert.equal(ownerOf(ledger, "v.com/other", "d2"), undefined);
  withHolding(ledger, holding("b", "c", ["d2"], "v.com/other"));
});

test("a holding of one pod is not filed under another", () => {
  assert.throws(
    () => withPod(EMPTY_LEDGER, A, [holding("b", "c", ["d1"])]),
    new InvariantError("v.com/gpu of container c of pod b was to be filed under pod a"),
  );
});

test("a device that two containers of a pod hold stays its own until both are without it", () => {
  let ledger = withHolding(EMPTY_LEDGER, holding("a", "init", ["d1", "d2", "d3"]));
  ledger = withHolding(ledger, holding("a", "app", ["d1"]));
  ledger = releaseContainers(ledger, A, new Set(["init"]));
  assert.equal(ownerOf(ledger, "v.com/gpu", "d1"), "a");
  assert.equal(ownerOf(ledger, "v.com/gpu", "d2"), undefined);
  assert.equal(findHolding(ledger, A, "init", "v.com/gpu"), undefined);
  assert.deepEqual(release(ledger, A), EMPTY_LEDGER);
});

test("releasing what is not there changes nothing", () => {
  const ledger = withHolding(EMPTY_LEDGER, holding("a", "c", ["d1"]));
  assert.equal(release(ledger, "b" as PodUid), ledger);
  assert.equal(releaseContainers(ledger, A, new Set(["x"])), ledger);
});

test("ledgerFaults finds a ledger that was tampered with", () => {
  const ledger = withHolding(EMPTY_LEDGER, holding("a", "c", ["d1"]));
  const doubled: Ledger = {
    ...ledger,
    pods: new Map([...ledger.pods, ["b" as PodUid, [holding("b", "c", ["d1"])]]]),
  };
  assert.equal(ledgerFaults(doubled).length, 2);
  assert.equal(ledgerFaults({ ...ledger, pods: new Map() }).length, 1);
  assert.equal(ledgerFaults({ ...ledger, owners: new Map() }).length, 1);
});

test("no sequence of changes breaks the ledger, or is refused for another reason than an owner", () => {
  const pods = ["a", "b", "c"];
  const step = fc.record({
    change: fc.constantFrom("hold", "pod", "release", "container"),
    pod: fc.constantFrom(...pods),
    container: fc.constantFrom("x", "y"),
    resource: fc.constantFrom("v.com/gpu", "v.com/nic"),
    ids: fc.uniqueArray(fc.constantFrom("1", "2", "3", "4", "5"), { minLength: 1, maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let ledger = EMPTY_LEDGER;
      for (const { change: kind, pod, container, resource, ids } of steps) {
        const uid = pod as PodUid;
        const wanted = holding(pod, container, ids, resource);
        const foreign = ids.some((id) => (ownerOf(ledger, resource, id) ?? uid) !== uid);
        if (kind === "release") ledger = release(ledger, uid);
        else if (kind === "container")
          ledger = releaseContainers(ledger, uid, new Set([container]));
        else {
          const change = () =>
            kind === "pod" ? withPod(ledger, uid, [wanted]) : withHolding(ledger, wanted);
          if (foreign) assert.throws(change, InvariantError);
          else ledger = change();
        }
        assert.deepEqual(ledgerFaults(ledger), []);
      }
      for (const pod of pods) ledger = release(ledger, pod as PodUid);
      assert.deepEqual(ledger, EMPTY_LEDGER);
    }),
  );
});
