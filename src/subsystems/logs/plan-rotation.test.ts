import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WallMs } from "../../kit/clock.ts";
import { planRotation, type RotationPlan } from "./plan-rotation.ts";

const NOW = Date.UTC(2026, 6, 4, 9, 8, 7) as WallMs;
const CURRENT = "0.log.20260704-090807";

interface Vector {
  readonly about: string;
  readonly files: readonly string[];
  readonly maxFiles: number;
  readonly plan: Omit<RotationPlan, "renameTo">;
}

const VECTORS: readonly Vector[] = [
  { about: "the first time", files: ["0.log"], maxFiles: 5, plan: { remove: [], zip: [] } },
  {
    about: "what was rotated before is zipped: only the one that is renamed now stays plain",
    files: ["0.log", "0.log.20260101-000000"],
    maxFiles: 5,
    plan: { remove: [], zip: ["0.log.20260101-000000"] },
  },
  {
    about: "what is zipped stays as it is",
    files: ["0.log", "0.log.20260101-000000", "0.log.20260102-000000", "0.log.20251231-000000.gz"],
    maxFiles: 5,
    plan: { remove: [], zip: ["0.log.20260101-000000", "0.log.20260102-000000"] },
  },
  {
    about: "as many go as come",
    files: [
      "0.log",
      "0.log.20260101-000000.gz",
      "0.log.20260102-000000.gz",
      "0.log.20260103-000000.gz",
      "0.log.20260104-000000",
    ],
    maxFiles: 5,
    plan: { remove: ["0.log.20260101-000000.gz"], zip: ["0.log.20260104-000000"] },
  },
  {
    about: "two files: only the current one and what it becomes",
    files: ["0.log", "0.log.20260101-000000"],
    maxFiles: 2,
    plan: { remove: ["0.log.20260101-000000"], zip: [] },
  },
  {
    about: "leftovers of an agent that ended in between",
    files: [
      "0.log",
      "0.log.20260101-000000.tmp",
      "0.log.20260101-000000",
      "0.log.20260101-000000.gz",
      "0.log.20260102-000000",
    ],
    maxFiles: 5,
    plan: {
      remove: ["0.log.20260101-000000.tmp", "0.log.20260101-000000"],
      zip: ["0.log.20260102-000000"],
    },
  },
  {
    about: "other attempts and files of others are left alone",
    files: ["0.log", "1.log", "1.log.20260101-000000", "0.log.bak", "10.log"],
    maxFiles: 2,
    plan: { remove: [], zip: [] },
  },
];

for (const { about, files, maxFiles, plan } of VECTORS)
  test(`planRotation: ${about}`, () => {
    assert.deepEqual(planRotation("0.log", files, { maxFiles, localNow: NOW }), {
      ...plan,
      renameTo: CURRENT,
    });
  });

/** Times of files that are there, time that the renamed one gets at 09:08:07. */
const TIMES: readonly (readonly [readonly string[], string])[] = [
  [[], "20260704-090807"],
  [["20260704-090806"], "20260704-090807"],
  // Twice in a second; a clock that was set back, over midnight and the end of a year.
  [["20260704-090807"], "20260704-090808"],
  [["20260704-100000.gz", "20260704-080000"], "20260704-100001"],
  [["20261231-235959"], "20270101-000000"],
  [["99999999-999999"], "20260704-090807"],
];

for (const [present, suffix] of TIMES)
  test(`planRotation after ${present.join(", ") || "nothing"} renames to ${suffix}`, () => {
    const files = ["0.log", ...present.map((time) => `0.log.${time}`)];
    const plan = planRotation("0.log", files, { maxFiles: 5, localNow: NOW });
    assert.equal(plan.renameTo, `0.log.${suffix}`);
  });

test("planRotation: however often it is applied, never more than maxFiles stay", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 30 }), (most, times) => {
      let files: readonly string[] = ["0.log"];
      for (let i = 0; i < times; i += 1) {
        // Not every rotation finds the clock moved on.
        const localNow = (NOW + ((i * 7) % 5) * 400) as WallMs;
        const plan = planRotation("0.log", files, { maxFiles: most, localNow });
        for (const older of files)
          assert.ok(older === "0.log" || older < plan.renameTo, `${older} ${plan.renameTo}`);
        files = files
          .filter((name) => !plan.remove.includes(name))
          .map((name) => {
            if (name === "0.log") return plan.renameTo;
            return plan.zip.includes(name) ? `${name}.gz` : name;
          })
          .concat("0.log");
        assert.equal(new Set(files).size, files.length);
        assert.ok(files.length <= most, files.join(" "));
        const plain = files.filter((name) => !name.endsWith(".gz"));
        assert.deepEqual(plain.toSorted(), ["0.log", plan.renameTo]);
      }
      assert.equal(files.length, Math.min(most, times + 1));
    }),
  );
});
