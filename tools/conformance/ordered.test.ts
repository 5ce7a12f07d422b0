// Which specs cannot be chosen alone, read from the suite's sources at the places that its report names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { specsAfterOthers, withSpecsBefore } from "./ordered.ts";
import type { CodeLocation, SpecReport, SuiteReport } from "./results/result.ts";

const SOURCE = `package x
var _ = Describe("A", func() {
	When("in order", ginkgo.Ordered,
		ginkgo.ContinueOnFailure, func() {
		It("makes", func() {})
		It("reads", func() {})
		Describe("deeper", func() { It("reads too", func() {}) })
	})
	When("free", func() { // not Ordered
		It("one", func() {})
		It("two", func() {})
	})
	When("table", ginkgo.Ordered, func() {
		for x := range y { It(x, func() {}) }
	})
})`.split("\n");

const at = (LineNumber: number): CodeLocation => ({ FileName: "x.go", LineNumber });

function spec(name: string, line: number, containers: readonly number[]): SpecReport {
  return {
    LeafNodeType: "It",
    ContainerHierarchyTexts: [],
    ContainerHierarchyLocations: containers.map(at),
    LeafNodeText: name,
    LeafNodeLocation: at(line),
    State: "passed",
    NumAttempts: 1,
    StartTime: "",
    EndTime: "",
    RunTime: 0,
  };
}

const REPORT: SuiteReport = {
  StartTime: "",
  RunTime: 0,
  SpecReports: [
    spec("reads too", 7, [2, 3, 7]),
    spec("reads", 6, [2, 3]),
    spec("makes", 5, [2, 3]),
    spec("one", 10, [2, 9]),
    spec("two", 11, [2, 9]),
    spec("x1", 14, [2, 13]),
    spec("x2", 14, [2, 13]),
    { ...spec("suite", 1, []), ContainerHierarchyLocations: null },
  ],
};

test("in an ordered container only the first spec needs no other", () => {
  const names = specsAfterOthers(REPORT, () => SOURCE);
  assert.deepEqual([...names].sort(), ["reads", "reads too", "x1", "x2"]);
});

for (const { chosen, all } of [
  { chosen: ["reads"], all: ["makes", "reads"] },
  { chosen: ["reads too", "two"], all: ["makes", "reads", "reads too", "two"] },
  { chosen: ["makes"], all: ["makes"] },
  { chosen: ["x2"], all: ["x1", "x2"] },
  { chosen: ["two"], all: ["two"] },
])
  test(`${chosen} are chosen with those before them in ordered containers`, () => {
    const names = withSpecsBefore(chosen, REPORT, () => SOURCE);
    assert.deepEqual([...names].sort(), all);
  });
