import assert from "node:assert/strict";
import { test } from "node:test";
import { readImagePolicy } from "./image-policy.ts";

const HEAD = "apiVersion: nodelet.dev/v1alpha1\nkind: ImagePolicy\n";

test("`readImagePolicy` reads every rule", () => {
  const text = `${HEAD}order: Value
keep:
  names: ["registry.example/base/*", nginx]
  labels: ["team in (infra, core)"]
  wantedWithin: 24h
  unreachableRegistries: true
`;
  assert.deepEqual(readImagePolicy(text), {
    kind: "policy",
    policy: {
      order: "value",
      keep: {
        names: ["registry.example/base/*", "nginx"],
        labels: [[{ key: "team", operator: "in", values: ["infra", "core"] }]],
        wantedWithinMs: 86_400_000,
        unreachableRegistries: true,
      },
    },
  });
});

test("`readImagePolicy` of an empty policy keeps nothing and goes by last use", () => {
  assert.deepEqual(readImagePolicy(HEAD), {
    kind: "policy",
    policy: {
      order: "leastRecentlyUsed",
      keep: { names: [], labels: [], wantedWithinMs: 0, unreachableRegistries: false },
    },
  });
});

for (const [text, fault] of [
  ["kind: ImagePolicy", /^apiVersion: must be nodelet\.dev\/v1alpha1$/],
  [`${HEAD}keeps: {}\n`, /^keeps: unknown field.*keep/],
  [`${HEAD}keep: []\n`, /^keep: must be a map$/],
  [`${HEAD}keep: {name: [x]}\n`, /^keep\.name: unknown field.*names/],
  [`${HEAD}keep: {names: x}\n`, /^keep\.names: must be a list/],
  [`${HEAD}keep: {names: [7]}\n`, /^keep\.names\[0\]: must be a non-empty string/],
  [`${HEAD}keep: {labels: ["a in"]}\n`, /^keep\.labels\[0\]: /],
  [`${HEAD}keep: {wantedWithin: 1}\n`, /^keep\.wantedWithin: must be a duration/],
  [`${HEAD}keep: {unreachableRegistries: "yes"}\n`, /^keep\.unreachableRegistries: must be true/],
  [`${HEAD}order: Random\n`, /^order: must be LeastRecentlyUsed or Value$/],
  ["{", /./],
] as const)
  test(`\`readImagePolicy\` says what is wrong: ${fault}`, () => {
    const read = readImagePolicy(text);
    assert.match(read.kind === "faults" ? (read.faults[0] ?? "") : "", fault);
  });
