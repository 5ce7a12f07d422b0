import assert from "node:assert/strict";
import { test } from "node:test";
import { anOverview } from "../../../test/cli/nodes.ts";
import { plainPaint } from "../text.ts";
import { renderNodeWhy } from "./node-why.ts";

const shown = (changes: Parameters<typeof anOverview>[0]) =>
  renderNodeWhy(anOverview({ failingChecks: [], ...changes }), [], {
    columns: 100,
    paint: plainPaint,
  });

test("`renderNodeWhy` shows what the runtime warns of, on a node that is ready", () => {
  const mirrors = "The `mirrors` property is deprecated since containerd v1.5";
  assert.deepEqual(shown({ runtimeDeprecations: [mirrors] }), [
    "edge-1",
    "  ready",
    `  the container runtime warns: ${mirrors}`,
    "  all state files of the agent are in order",
  ]);
});

test("`renderNodeWhy` of an agent that does not report it yet", () => {
  const { runtimeDeprecations: _, ...older } = anOverview({ failingChecks: [] });
  const lines = renderNodeWhy(older as never, [], { columns: 100, paint: plainPaint });
  assert.equal(lines.length, 3);
});
