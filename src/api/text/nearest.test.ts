import assert from "node:assert/strict";
import { test } from "node:test";
import { didYouMean, editDistance, nearest } from "./nearest.ts";

test("nearest finds what was meant and nothing far away", () => {
  const fields = ["image", "imagePullPolicy", "name", "env", "envFrom"];
  const options = ["maxPods", "podsPerCore", "staticPodPath", "clusterDNS"];
  const rows: readonly (readonly [string, readonly string[], string | undefined])[] = [
    ["iamge", fields, "image"],
    ["ENV", fields, "env"],
    ["imagepullpolicy", fields, "imagePullPolicy"],
    ["zzz", fields, undefined],
    ["maxPods", options, "maxPods"],
    ["maxpods", options, "maxPods"],
    ["max-pods", options, "maxPods"],
    ["maxPdos", options, "maxPods"],
    ["staticPod", options, "staticPodPath"],
    ["clusterDns", options, "clusterDNS"],
    ["xyz", options, undefined],
    ["", options, undefined],
    ["x".repeat(1000), options, undefined],
    ["x".repeat(100_000), fields, undefined],
  ];
  for (const [name, candidates, found] of rows)
    assert.equal(nearest(name, candidates), found, name.slice(0, 20));
  assert.equal(didYouMean("maxpod", options), "did you mean maxPods?");
  assert.equal(didYouMean("zzz", options), "");
});

test("editDistance counts inserts, removals, replacements and swaps", () => {
  const rows: readonly (readonly [string, string, number])[] = [
    ["", "", 0],
    ["a", "a", 0],
    ["a", "b", 1],
    ["ab", "ba", 1],
    ["abc", "ab", 1],
    ["kitten", "sitting", 3],
    ["abcdef", "badcfe", 3],
  ];
  for (const [a, b, distance] of rows) {
    assert.equal(editDistance(a, b, 10), distance, `${a} ${b}`);
    assert.equal(editDistance(b, a, 10), distance, `${b} ${a}`);
  }
  assert.equal(editDistance("abc", "xyz", 2), 2);
});
