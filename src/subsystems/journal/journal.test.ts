import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { makeDecision } from "../../api/decisions.ts";
import { silentLog } from "../../kit/log.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { Journal } from "./journal.ts";

const OPTIONS = { folder: "/journal", segmentBytes: 2_000, segments: 3 };
const POD = { kind: "pod", name: "default/web", uid: "u" } as const;
const START = makeDecision("startContainer", "never started", {
  container: "main",
  restartCount: 0,
  policy: "Always",
});
const ADMIT = makeDecision("admit", "every rule agreed", { rules: 3 });
const FAILED = { kind: "failed", reason: "ErrImagePull", message: "not found", times: 1 } as const;

function world() {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  const open = async (options = OPTIONS) => {
    const state = new StateFiles({ files, clock, log: silentLog });
    const journal = new Journal(options, { state, clock });
    await journal.open();
    return journal;
  };
  const outcomes = async (journal: Journal) =>
    (await journal.read({})).map(({ kind, outcome }) => `${kind} ${outcome?.kind}`);
  return { clock, files, open, outcomes };
}

test("conclude: a decision is read with what became of it, and pending until then", async () => {
  const { clock, open } = world();
  const journal = await open();
  const number = journal.record(POD, START);
  const beganAtMs = clock.wall();
  assert.deepEqual((await journal.read({}))[0]?.outcome, { kind: "pending", atMs: beganAtMs });
  await clock.advance(5_000);
  journal.conclude(POD, number, FAILED);
  const [record, ...others] = await journal.read({ name: POD.name });
  assert.deepEqual(others, []);
  assert.deepEqual(record?.outcome, { ...FAILED, atMs: clock.wall() });
  assert.equal(record?.atMs, beganAtMs);
});

test("conclude: the last word counts, and other decisions are not touched", async () => {
  const { open, outcomes } = world();
  const journal = await open();
  const first = journal.record(POD, START);
  journal.record(POD, ADMIT);
  const second = journal.record(POD, START);
  journal.conclude(POD, first, { kind: "pending", message: "pulling" });
  journal.conclude(POD, second, FAILED);
  journal.conclude(POD, first, { kind: "done" });
  assert.deepEqual(await outcomes(journal), [
    "startContainer done",
    "admit undefined",
    "startContainer failed",
  ]);
});

test("open: a decision left pending by the previous run is unknown; recorded outcomes stay, and numbers go on", async () => {
  const { open, outcomes } = world();
  const before = await open();
  before.record(POD, START);
  before.conclude(POD, before.record(POD, START), { kind: "done" });
  await before.flush();
  const now = await open();
  now.record(POD, START);
  assert.deepEqual(await outcomes(now), [
    "startContainer unknown",
    "startContainer done",
    "startContainer pending",
  ]);
  const numbers = (await now.read({})).map(({ sequence }) => sequence);
  assert.deepEqual(numbers, [1, 2, 4]);
});

test("read: journals of agents that kept no outcomes, and outcomes whose decision is gone", async () => {
  const { files, open, outcomes } = world();
  const { kind, rule, inputs } = START;
  const old = { atMs: 5, sequence: 1, subject: POD, kind, rule, inputs };
  const lost = { ...old, sequence: 9, kind: "outcome", rule: "done", inputs: { of: 7 } };
  await files.makeDirectory("/journal", 0o700);
  const text = `${JSON.stringify(old)}\n${JSON.stringify(lost)}\n`;
  await files.writeAtomic("/journal/decisions-00000000.jsonl", text, 0o600);
  const journal = await open();
  assert.deepEqual(await outcomes(journal), ["startContainer undefined"]);
  assert.equal(journal.record(POD, ADMIT), 10);
});

test("conclude: outcomes go round with the decisions", async () => {
  const { files, open } = world();
  const journal = await open();
  for (let times = 0; times < 100; times += 1)
    journal.conclude(POD, journal.record(POD, START), FAILED);
  await journal.flush();
  const records = await journal.read({});
  assert.ok(records.length > 0 && records.length < 40, `${records.length} are left`);
  assert.deepEqual([...new Set(records.slice(1).map(({ outcome }) => outcome?.kind))], ["failed"]);
  assert.equal((await files.list("/journal"))?.length, OPTIONS.segments);
});
