import assert from "node:assert/strict";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { BoxedAgent } from "../support/agent.ts";
import { fuseObstacle } from "../support/fuse/test-filesystem.ts";
import { playHungFilesystems } from "./hung-filesystem.ts";

test(
  "file systems that hang below hostPath, emptyDir, volume and log folder concern their own pods only",
  {
    skip: fuseObstacle() ?? false,
  },
  (t) =>
    withBox({}, async (box) => {
      const agent = await BoxedAgent.start(box);
      const figures = await playHungFilesystems(agent, { hangMs: 30_000, starts: 5 });
      t.diagnostic(JSON.stringify(figures));
      assert.equal(figures.startsDuringMs.length, 5);
    }),
);
