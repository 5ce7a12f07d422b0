import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../../test/support/pods.ts";
import { withLikelyCause } from "./likely-cause.ts";

test("a failed start names an amount of memory that is less than a byte", () => {
  const pod = (memory: string) =>
    aPod({ containers: [aContainer("a", { resources: { limits: { memory } } })] });
  assert.equal(withLikelyCause(pod("128Mi"), "killed"), "killed");
  assert.equal(
    withLikelyCause(pod("128m"), "killed"),
    'killed (spec.containers[0].resources.limits[memory]: fractional byte value "128m" is invalid, must be an integer; "m" means thousandths, write 128Mi or 128M)',
  );
});
