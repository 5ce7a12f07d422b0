import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles, type Fault } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { anAttempt, aRecord, at } from "../../../test/support/pods.ts";
import type { PodUid } from "../../api/observation.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { Statuses } from "./status.ts";

const FILE = "/state/pod-statuses.jsonl";
const EARLIER = "/state/pods";
const [RUNS, GOES, NEWER] = ["runs" as PodUid, "goes" as PodUid, "newer" as PodUid];

async function world(fault: Fault = () => undefined) {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault });
  await files.makeDirectory(EARLIER, 0o700);
  const open = async () => {
    const statuses = new Statuses(
      { file: FILE, earlierFolder: EARLIER },
      {
        state: new StateFiles({ files, clock, log: silentLog }),
        clock,
        metrics: new MetricsRegistry(),
        runtimeName: () => "containerd",
        hostIps: () => [],
        events: { ofPod: () => {} },
      },
    );
    await statuses.open();
    return statuses;
  };
  const keepEarlier = (uid: string, kept: object) =>
    files.writeAtomic(`${EARLIER}/${uid}.json`, JSON.stringify({ format: 1, ...kept }), 0o600);
  const left = async () => ((await files.list(EARLIER)) ?? []).map(({ name }) => name);
  return { files, clock, open, keepEarlier, left };
}

test("open: statuses that earlier versions kept are taken over, once", async () => {
  const { files, open, keepEarlier, left } = await world();
  await keepEarlier(RUNS, { status: { phase: "Running" } });
  await keepEarlier(GOES, { status: { phase: "Running" }, going: true });
  await files.writeAtomic(`${EARLIER}/bad.json`, "garbage", 0o600);
  for (const statuses of [await open(), await open()]) {
    assert.deepEqual(statuses.publishedBefore(RUNS), { phase: "Running" });
    assert.equal(statuses.publishedBefore(GOES), undefined);
    assert.ok(statuses.knownBefore(GOES));
    assert.deepEqual(await left(), ["bad.json.broken"]);
  }
});

test("open: what was kept since counts, not what an earlier version left", async () => {
  const { files, open, keepEarlier } = await world();
  const line = { format: 1, key: NEWER, value: { status: { phase: "Failed" } } };
  await files.writeAtomic(FILE, `${JSON.stringify(line)}\n`, 0o600);
  await keepEarlier(NEWER, { status: { phase: "Running" }, going: true });
  const statuses = await open();
  assert.deepEqual(statuses.publishedBefore(NEWER), { phase: "Failed" });
});

test("open: what an earlier version kept while it ran again in between counts", async () => {
  const { files, clock, open, keepEarlier, left } = await world();
  const lines = [RUNS, GOES].map((key) => ({
    format: 1,
    key,
    value: { status: { phase: "Failed" } },
  }));
  await files.writeAtomic(FILE, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), 0o600);
  await clock.advance(1_000);
  await keepEarlier(RUNS, { status: { phase: "Running" } });
  for (const statuses of [await open(), await open()]) {
    assert.deepEqual(statuses.publishedBefore(RUNS), { phase: "Running" });
    assert.deepEqual(statuses.publishedBefore(GOES), { phase: "Failed" });
    assert.deepEqual(await left(), []);
  }
});

test("open: what cannot be taken over stays where it is", async () => {
  const { open, keepEarlier, left } = await world((operation, path) =>
    operation === "writeAtomic" && path === FILE
      ? new OutsideError("exhausted", "disk full")
      : undefined,
  );
  await keepEarlier(RUNS, { status: { phase: "Running" } });
  assert.deepEqual((await open()).publishedBefore(RUNS), { phase: "Running" });
  assert.deepEqual(await left(), [`${RUNS}.json`]);
});

test("dropUnclaimed: of a pod that no longer exists nothing is kept", async () => {
  const { open, keepEarlier } = await world();
  await keepEarlier(RUNS, { status: { phase: "Running" } });
  await keepEarlier(GOES, { status: { phase: "Running" } });
  const statuses = await open();
  statuses.dropUnclaimed((uid) => uid === RUNS);
  await statuses.flush();
  const again = await open();
  assert.deepEqual([again.knownBefore(RUNS), again.knownBefore(GOES)], [true, false]);
});

test("update: why the node ends a pod is kept while its status holds it back", async () => {
  const { open } = await world();
  const statuses = await open();
  const cause = { kind: "evicted", reason: "Evicted", message: "low on memory" } as const;
  const life = { kind: "terminating", cause, graceSeconds: 30, killBy: at(30_000) } as const;
  const record = aRecord({ containers: [anAttempt("a")] });
  statuses.update(record);
  await statuses.flush();
  statuses.update({ ...record, life });
  await statuses.flush();
  assert.equal(statuses.get(record.uid)?.status.reason, undefined);
  const again = await open();
  const { phase, reason, message } = again.publishedBefore(record.uid) ?? {};
  assert.deepEqual([phase, reason, message], ["Running", "Evicted", "low on memory"]);
  again.update(record);
  assert.equal(again.get(record.uid)?.status.reason, undefined);
});
