import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeFiles, type Fault } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { allocationOf, isUnsure } from "../../api/pod/allocation.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import type { WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { parseAllocations } from "./allocation-checkpoint.ts";
import { AllocationLedger } from "./ledger.ts";

const PATHS = { allocated: "/a", actuated: "/b" };

const podOf = (cpu: string, own?: string) =>
  identifyPod({
    metadata: { name: "p", uid: "p" },
    spec: {
      containers: [
        { name: "c", resources: { requests: { cpu } } },
        { name: "d", resources: { requests: { cpu: "1" } } },
      ],
      ...(own ? { resources: { requests: { cpu: own } } } : {}),
    },
  });
const [OLD, NEW] = [podOf("1", "4"), podOf("2", "8")];

const filesOf = (fault: Fault = () => undefined) =>
  new FakeFiles({ wall: () => 0 as WallMs, fault });

async function open(files: FakeFiles, clock = new SimClock()): Promise<AllocationLedger> {
  const ledger = new AllocationLedger(PATHS, {
    state: new StateFiles({ files, clock, log: silentLog }),
    clock,
  });
  await ledger.open();
  return ledger;
}

const has = (ledger: AllocationLedger) => {
  const { containers, group, pod } = ledger.actuated(NEW);
  return [
    containers["c"]?.requests?.["cpu"],
    pod?.requests?.["cpu"],
    group.containers["c"]?.requests?.["cpu"],
    group.pod?.requests?.["cpu"],
  ];
};

test("an agent that is killed at any moment of a resize knows where it stood", async () => {
  const files = filesOf();
  let ledger = await open(files);
  const restarted = async () => {
    ledger = await open(files);
    return has(ledger);
  };
  ledger.admit(OLD);
  await ledger.actuate(OLD, "d", { requests: { cpu: "1" } });
  assert.deepEqual(has(ledger), ["1", "4", "1", "4"]);
  await ledger.allocate(OLD, allocationOf(NEW));
  assert.deepEqual(ledger.asAllocated(OLD), NEW);
  assert.deepEqual(await restarted(), ["1", "4", "1", "4"], "given, nothing done");
  await ledger.actuate(NEW, "c", { requests: { cpu: "2" } });
  assert.deepEqual(await restarted(), ["2", "4", "1", "4"], "a container was started with it");
  await ledger.actuateGroup("p", allocationOf(NEW));
  assert.deepEqual(await restarted(), ["2", "8", "2", "8"]);
  assert.deepEqual(ledger.asAllocated(OLD), NEW);
  ledger.forget("p");
  await ledger.actuateGroup("q", allocationOf(OLD));
  ledger.dropUnclaimed(() => false);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(ledger.allocated("p"), undefined);
});

test("a change on top of one that is under way leaves nothing taken for sure", async () => {
  const files = filesOf();
  const ledger = await open(files);
  ledger.admit(OLD);
  await ledger.allocate(OLD, allocationOf(NEW));
  assert.equal(isUnsure(ledger.actuated(NEW).group), false);
  await ledger.allocate(NEW, allocationOf(OLD));
  for (const each of [ledger, await open(files)]) {
    assert.equal(isUnsure(each.actuated(OLD).group), true);
    assert.deepEqual(has(each), ["1", "4", undefined, "4"]);
  }
  await ledger.actuateGroup("p", allocationOf(OLD));
  assert.equal(isUnsure(ledger.actuated(OLD).group), false);
});

test("what cannot be written down was not given", async () => {
  let failing = false;
  const files = filesOf(() => (failing ? new OutsideError("io", "disk full") : undefined));
  const ledger = await open(files);
  ledger.admit(OLD);
  failing = true;
  await assert.rejects(ledger.allocate(OLD, allocationOf(NEW)), /disk full/);
  assert.deepEqual(ledger.asAllocated(NEW), OLD);
  failing = false;
  await ledger.allocate(OLD, allocationOf(NEW));
  assert.equal(ledger.asAllocated(NEW), NEW);
});

test("a file that cannot be trusted is as good as none", async () => {
  const files = filesOf();
  await files.writeAtomic(PATHS.allocated, '{"data":"{}","checksum":1}', 0o600);
  const ledger = await open(files);
  assert.equal(ledger.asAllocated(OLD), OLD);
  assert.deepEqual(has(ledger), ["2", "8", "2", "8"]);
});

test("admit, actuate, forget: what may be lost is written together, and at the latest with the end of the agent", async () => {
  const writes: string[] = [];
  const files = filesOf((operation, path) => {
    if (operation === "writeAtomic") writes.push(path);
    return undefined;
  });
  const clock = new SimClock();
  const ledger = await open(files, clock);
  const pods = Array.from({ length: 50 }, (_, i) =>
    identifyPod({ ...OLD, metadata: { ...OLD.metadata, uid: `p${i}` } }),
  );
  for (const pod of pods) {
    ledger.admit(pod);
    await ledger.actuate(pod, "c", { requests: { cpu: "1" } });
    await clock.advance(1);
  }
  await clock.advance(1_000);
  assert.deepEqual(writes.toSorted(), ["/a", "/b"]);
  ledger.forget("p0");
  await ledger.flush();
  assert.equal(writes.length, 4);
  const again = await open(files);
  assert.equal(again.allocated("p0"), undefined);
  assert.ok(again.allocated("p49"));
  await clock.advance(1_000);
  assert.equal(writes.length, 4, "what was written is not written again");
});

test("actuateFirst: the whole allocation of a pod of which nothing is known, and of no other", async () => {
  const files = filesOf();
  const ledger = await open(files);
  const kept = async () => {
    await ledger.flush();
    const found = parseAllocations(
      (await files.readText(PATHS.actuated, { maxBytes: 65_536 })) ?? "",
    );
    return found.kind === "read" ? found.allocations.get("p") : found;
  };
  ledger.admit(OLD);
  ledger.actuateFirst(OLD);
  assert.deepEqual(await kept(), allocationOf(OLD));
  await ledger.allocate(OLD, allocationOf(NEW));
  await ledger.actuate(NEW, "c", { requests: { cpu: "2" } });
  ledger.actuateFirst(NEW);
  assert.deepEqual(has(ledger), ["2", "4", "1", "4"], "what is behind stays so");
});
