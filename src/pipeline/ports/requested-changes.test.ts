import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import { allocationOf } from "../../api/pod/allocation.ts";
import { requestedChanges } from "./requested-changes.ts";

/** Before, after, and the operation; `undefined` for an amount that is absent. */
const ROWS = [
  [undefined, undefined, undefined],
  [undefined, "0", undefined],
  ["0", undefined, undefined],
  ["0", "0m", undefined],
  ["1", "1000m", undefined],
  [undefined, "1", "add"],
  ["0", "1", "add"],
  ["1", undefined, "remove"],
  ["1", "0", "remove"],
  ["1", "2", "increase"],
  ["2", "1500m", "decrease"],
] as const;

for (const requirement of ["requests", "limits"] as const)
  for (const resource of ["cpu", "memory"] as const)
    for (const [before, after, operation] of ROWS)
      test(`requestedChanges: ${requirement} of ${resource}, ${before} to ${after}`, () => {
        const podOf = (amount: string | undefined) => {
          const resources = amount === undefined ? {} : { [requirement]: { [resource]: amount } };
          return aPod({ containers: [aContainer("a", { resources })] });
        };
        assert.deepEqual(
          requestedChanges(podOf(before), allocationOf(podOf(after))),
          operation ? [{ resource, requirement, operation }] : [],
        );
      });
