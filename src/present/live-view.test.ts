import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertGolden } from "../../test/cli/golden.ts";
import { anEvent, anOverview } from "../../test/cli/nodes.ts";
import { aPod, NOW, running, secondsAgo } from "../../test/cli/pods.ts";
import { renderScreen, type Screen } from "./live-view.ts";
import { eventRow } from "./tables/event-row.ts";
import { summarizeNode } from "./tables/node-summary.ts";
import { podRow } from "./tables/pod-row.ts";
import { type Paint, plainPaint, textWidth } from "./text.ts";

const crashing = aPod({
  name: "worker-edge-1",
  namespace: "jobs",
  ready: false,
  containers: [
    running({
      name: "main",
      ready: false,
      restartCount: 4,
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: "back-off 1m20s restarting failed container=main pod=worker-edge-1_jobs(uid)",
        },
      },
      lastState: { terminated: { exitCode: 1, finishedAt: secondsAgo(20) } },
    }),
  ],
});

function screen(changes: Partial<Screen> = {}): Screen {
  const usage = { cpuMilli: 250, memoryBytes: 1.5 * 1024 ** 3 };
  return {
    node: summarizeNode(anOverview({ pods: { total: 2, byPhase: {} } }), [], usage),
    pods: [aPod(), crashing].map((pod) => podRow(pod, NOW)),
    events: [
      anEvent({ reason: "Starting", message: "Starting kubelet." }, 200),
      anEvent({ reason: "Started", message: "Container started", pod: "web-edge-1" }, 60),
      anEvent(
        {
          reason: "BackOff",
          message: "Back-off restarting failed container main in pod worker-edge-1_jobs(uid)",
          type: "Warning",
          pod: "worker-edge-1",
          count: 7,
        },
        5,
      ),
    ].map((event) => eventRow(event, NOW)),
    notices: [],
    footer: ["Ctrl-C stops the agent, pods keep running"],
    now: NOW,
    ...changes,
  };
}

const frame = (shown: Screen, columns: number, rows: number, paint: Paint = plainPaint) =>
  `${renderScreen(shown, { columns, rows }, paint).join("\n")}\n`;

test("`renderScreen` of a usual terminal", () => {
  assertGolden("screen-100x24.txt", frame(screen(), 100, 24));
});

test("`renderScreen` of a small terminal", () => {
  assertGolden("screen-50x12.txt", frame(screen(), 50, 12));
});

test("`renderScreen` with styles", () => {
  const paint: Paint = (style, text) => `<${style}>${text}</${style}>`;
  assertGolden("screen-painted.txt", frame(screen(), 100, 24, paint));
});

test("`renderScreen` of a node that is not ready, with a broken manifest and notices of `up`", () => {
  const overview = anOverview({ ready: false, why: "NetworkReady: cni plugin not initialized" });
  const problem = {
    origin: "/etc/nodelet/manifests/a.yaml",
    message: "spec.containers: Required value",
  };
  assertGolden(
    "screen-not-ready.txt",
    frame(
      screen({
        node: summarizeNode(overview, [problem], undefined),
        pods: [],
        events: [],
        notices: ["the agent exited with code 1", "restarting it in 2 s"],
      }),
      80,
      16,
    ),
  );
});

test("`renderScreen` before the agent answers", () => {
  assertGolden(
    "screen-waiting.txt",
    frame(screen({ node: undefined, pods: [], events: [] }), 80, 16),
  );
});

test("`renderScreen` shows pods with problems first when not all fit", () => {
  const many = [
    ...Array.from({ length: 40 }, (_, i) => aPod({ name: `web-${i}-edge-1` })),
    crashing,
  ].map((pod) => podRow(pod, NOW));
  assertGolden("screen-many.txt", frame(screen({ pods: many }), 80, 20));
});

test("`renderScreen` never exceeds the terminal", () => {
  const pods = fc.array(
    fc.record({ name: fc.string({ unit: "grapheme" }), restarts: fc.nat(9999) }),
    { maxLength: 30 },
  );
  const size = fc.record({
    columns: fc.integer({ min: 40, max: 160 }),
    rows: fc.integer({ min: 1, max: 50 }),
  });
  const notices = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 6 });
  fc.assert(
    fc.property(pods, notices, size, (given, reported, terminal) => {
      const rows = given.map(({ name, restarts }) =>
        podRow(aPod({ name, containers: [running({ restartCount: restarts })] }), NOW),
      );
      const lines = renderScreen(screen({ pods: rows, notices: reported }), terminal, plainPaint);
      assert.ok(lines.length <= terminal.rows, `${lines.length} lines in ${terminal.rows} rows`);
      for (const line of lines) assert.ok(textWidth(line) <= terminal.columns, line);
    }),
  );
});
