// Guards of eviction.
import { type Guard, testGuards } from "./bite.ts";

const GUARDS: readonly Guard[] = [
  {
    name: "the cleanup of an evicted pod is waited for",
    file: "src/node/eviction.ts",
    line: "return !record || (isReleasable(record) && record.observed.containers.length === 0);",
    without: "return true;",
    play: "play-eviction.ts",
    // The next round has to come before the pod is gone: history 393 is the first.
    first: 385,
  },
  {
    name: "what the node can do without goes before any pod",
    file: "src/subsystems/eviction/eviction.ts",
    line: "if (await this.#reclaim(pressure, round)) return [];",
    without: "",
    play: "play-eviction.ts",
  },
  {
    name: "no pod is evicted before all of them were observed",
    file: "src/subsystems/eviction/eviction.ts",
    line: "if (round.hasUnobservedPods) {",
    without: "if (false) {",
    play: "play-eviction.ts",
    // The pod to evict has to be the one not observed yet: history 185 is the first.
    first: 177,
  },
  {
    name: "pressure is reported for the transition period",
    file: "src/subsystems/eviction/plan.ts",
    line: "now - seenAt < rules.transitionMs",
    without: "now === seenAt",
    play: "play-eviction.ts",
  },
  {
    name: "critical pods are not evicted",
    file: "src/subsystems/eviction/rank.ts",
    line: `!critical && candidate.ending !== "overdue"`,
    without: `candidate.ending !== "overdue"`,
    play: "play-eviction.ts",
  },
];

testGuards(GUARDS);
