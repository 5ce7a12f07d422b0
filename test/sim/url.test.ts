// Pods of a URL outlive restarts of the agent while the URL does not answer.
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const SEEDS = 20;

test(`simulation of a URL that does not answer: ${SEEDS} seeds`, async () => {
  const module = new URL("./url-scenario.ts", import.meta.url);
  await playSeeds({ module, name: "playUrl", first: 1, count: SEEDS });
});
