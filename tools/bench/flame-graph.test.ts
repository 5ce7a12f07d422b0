import assert from "node:assert/strict";
import { test } from "node:test";
import { type CpuProfile, flameGraph, framesOf } from "./flame-graph.ts";

const frame = (functionName: string, url = "", lineNumber = -1) => ({
  functionName,
  url,
  lineNumber,
});

const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame("(root)"), children: [2, 3, 4] },
    { id: 2, callFrame: frame("(idle)") },
    { id: 3, callFrame: frame("run", "file:///a/b.js", 9), children: [5, 6] },
    { id: 4, callFrame: frame("(garbage collector)") },
    { id: 5, callFrame: frame("", "file:///a/b.js", 20) },
    { id: 6, callFrame: frame("a<b", "file:///a/b.js", 30), children: [7] },
    { id: 7, callFrame: frame("", "file:///a/b.js", 20) },
  ],
  samples: [2, 3, 5, 6, 7, 4, 3],
  timeDeltas: [1000, 100, 200, 50, -5, 150, 100],
};

test("framesOf adds up times by caller and leaves out idle time", () => {
  const root = framesOf(PROFILE);
  assert.deepEqual([root.totalUs, root.children.size], [600, 2]);
  const run = root.children.get("run b.js:10");
  assert.deepEqual([run?.totalUs, run?.selfUs], [450, 200]);
  assert.equal(run?.children.get("(anonymous) b.js:21")?.totalUs, 200);
  assert.equal(run?.children.get("a<b b.js:31")?.totalUs, 50);
});

test("flameGraph draws every frame that is wide enough, with its share", () => {
  const svg = flameGraph(framesOf(PROFILE));
  assert.match(svg, /<title>run b\.js:10: 0\.5 ms, 75\.0 %, itself 33\.3 %<\/title>/);
  assert.match(svg, /<title>a&lt;b b\.js:31: /);
  assert.doesNotMatch(svg, /idle/);
  // root, run, two below it and the collector; the frame without time is too narrow.
  assert.equal(svg.match(/<rect /g)?.length, 5);
  assert.match(svg, /^<svg [^>]*viewBox="0 0 1600 51"/);
});
