import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../test/sim/sim-clock.ts";
import type { DurationMs } from "../api/text/duration.ts";
import { silentLog } from "../kit/log.ts";
import { MetricsRegistry } from "../kit/metrics.ts";
import { TaskScope } from "../kit/scope.ts";
import type { FileFacts } from "../outside/host/host.ts";
import { type LogRotationDeps, startLogRotation } from "./log-rotation.ts";

const OPTIONS = {
  containerLogMaxSize: "10",
  containerLogMaxFiles: 2,
  containerLogMaxWorkers: 1,
  containerLogMonitorInterval: 10_000 as DurationMs,
  podLogsDir: "/logs",
};

/** A pod of which these containers run, as far as rotation reads it. */
const running = (...ids: readonly string[]) => ({
  pod: { metadata: { namespace: "ns", name: "p", uid: "u" } },
  observed: {
    containers: ids.map((id) => ({ id, name: id, restartCount: 0, state: "running" })),
  },
});

test("startLogRotation asks for all logs at once, for none where nothing runs, and rotates large ones", async () => {
  const clock = new SimClock();
  let pods: readonly object[] = [];
  const asked: (readonly string[])[] = [];
  const rotated: string[] = [];
  const factsOfAll = async (paths: readonly string[]) => {
    asked.push(paths);
    return paths.map((path) => ({ sizeBytes: path.includes("big") ? 10 : 9 }) as FileFacts);
  };
  const scope = new TaskScope("test", { clock, log: silentLog });
  const metrics = new MetricsRegistry();
  startLogRotation(OPTIONS, {
    outside: { clock, log: silentLog, host: { podFiles: { factsOfAll } } },
    scope,
    pipeline: { pods: { list: () => pods } } as unknown as LogRotationDeps["pipeline"],
    logs: { rotate: async ({ containerId }) => rotated.push(containerId) > 0 },
    metrics,
  });
  await clock.advance(60_000);
  assert.deepEqual([asked, rotated], [[], []]);
  pods = [running("big", "small")];
  await clock.advance(10_000);
  assert.deepEqual(asked, [["/logs/ns_p_u/big/0.log", "/logs/ns_p_u/small/0.log"]]);
  const used = metrics.expose().match(/^kubelet_container_log_filesystem_used_bytes\{.*$/gm);
  assert.equal(used?.length, 2);
  assert.deepEqual(rotated, ["big"]);
  await scope[Symbol.asyncDispose]();
});
