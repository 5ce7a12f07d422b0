import assert from "node:assert/strict";
import { test } from "node:test";
import type { CsiReport } from "../shapes.ts";
import { plainPaint } from "../text.ts";
import { renderHistory } from "../why/history.ts";
import { renderVolumes } from "./volume-table.ts";

const STUCK: CsiReport["volumes"][number] = {
  name: "pvc-1",
  driver: "disk.example.com",
  handle: "vol-1",
  kind: "mount",
  attaches: "yes",
  staged: "none",
  problem: "rpc error: code = Internal desc = no\nslot",
  step: "MountVolume.MountDevice",
  forSeconds: 320,
  waitsFor: "the next attempt",
  failures: 2,
  retryInSeconds: 9,
  pods: [{ pod: "default/db", state: "waiting" }],
};
const STORY =
  "pvc-1 of disk.example.com at MountVolume.MountDevice for 5 min 20 s, waits for the next attempt: rpc error: code = Internal desc = no slot (failed 2 times; next attempt in 9 s)";

test("volumes: drivers, a table, and where a volume is stuck", () => {
  const driver = {
    name: "disk.example.com",
    socket: "/s",
    version: "1.0.0",
    nodeId: "n",
    topology: {},
  };
  const lines = renderVolumes(
    { drivers: [{ ...driver, maxVolumes: 3 }], volumes: [STUCK] },
    { wide: false, paint: plainPaint },
  );
  assert.equal(lines[0], "disk.example.com 1.0.0: node n, at most 3 volumes");
  assert.match(
    lines[3] ?? "",
    /^pvc-1 +disk.example.com +mount +controller +none +default\/db \(waiting\)/,
  );
  assert.equal(lines.at(-1), STORY);
  const { problem: _, step: __, forSeconds: ___, ...well } = STUCK;
  const quiet = renderVolumes({ drivers: [], volumes: [well] }, { wide: false, paint: plainPaint });
  assert.equal(quiet.length, 4);
});

test("why: a pod's stuck volume comes after how the pod is now", () => {
  const pod = { metadata: { name: "db", namespace: "default" }, spec: { containers: [] } };
  const lines = renderHistory(
    { name: "default/db", steps: [], warnings: [], pod, volumes: [STUCK] },
    { now: 0, columns: 500, paint: plainPaint },
  );
  assert.equal(lines.at(-1), `  Volume ${STORY}`);
});
