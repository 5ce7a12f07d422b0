// Logs of containers that write a lot, on real containerd.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";
import { WAIT_FOREVER } from "../support/stay.ts";

const LINES = 12_000;
const WRITER = `i=0; while [ $i -lt ${LINES} ]; do echo line $i; i=$((i+1)); [ $((i % 30)) = 0 ] && sleep 0.05; done; trap 'exit 0' TERM; ${WAIT_FOREVER}`;

test("a log is rotated while it is written, no line is lost, and only so many files stay", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, {
      config:
        "containerLogMaxSize: 100Ki\ncontainerLogMaxFiles: 100\ncontainerLogMonitorInterval: 3s",
    });
    const container = { name: "main", image: TEST_IMAGE, command: ["sh", "-c", WRITER] };
    agent.apply("chatty.yaml", manifest("chatty", { containers: [container] }));
    await agent.untilReady();
    const logs = box.path("/var/log/pods");
    const folder = () => join(logs, readdirSync(logs)[0] ?? "", "main");
    const lines = (): readonly string[] => {
      try {
        return linesNow();
      } catch (error) {
        // A file may get another name between being listed and being read.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return lines();
        throw error;
      }
    };
    const linesNow = () => {
      const names = readdirSync(folder()).sort();
      const ordered = [...names.filter((name) => name !== "0.log"), "0.log"];
      return ordered
        .map((name) => {
          const bytes = readFileSync(join(folder(), name));
          return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
        })
        .join("")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split(" ").slice(3).join(" "));
    };
    await agent.until(
      "all lines are written",
      () => lines().at(-1) === `line ${LINES - 1}`,
      90_000,
    );
    assert.deepEqual(
      lines(),
      Array.from({ length: LINES }, (_, i) => `line ${i}`),
    );
    const names = readdirSync(folder());
    assert.ok(names.length >= 4, names.join(" "));
    assert.ok(names.some((name) => name.endsWith(".gz")));
    assert.equal(names.filter((name) => name.endsWith(".tmp")).length, 0);
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 0);
  }));
