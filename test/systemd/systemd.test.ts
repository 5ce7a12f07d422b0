import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSystemClock } from "../../src/kit/clock.ts";
import { isOutside } from "../../src/kit/errors.ts";
import { connectSystemd } from "../../src/outside/systemd/connect-systemd.ts";
import type { SystemdUnits } from "../../src/outside/systemd/systemd.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { FakeSystemd } from "./fake-systemd.ts";
import { busObstacle, PrivateBus } from "./private-bus.ts";

const SLICE = "kubepods-burstable.slice";
const INFINITY = 2n ** 64n - 1n;

interface Scene {
  readonly bus: PrivateBus;
  readonly systemd: FakeSystemd;
  readonly units: SystemdUnits;
  readonly tree: FakeHost["cgroups"];
}

async function withSystemd(use: (scene: Scene) => Promise<void>, jobTimeoutMs?: number) {
  await using bus = await PrivateBus.start();
  const tree = new FakeHost({ clock: new SimClock() }).cgroups;
  await using systemd = await FakeSystemd.start({ address: bus.address, tree });
  const units = connectSystemd({
    clock: createSystemClock(),
    addresses: [{ address: "unix:path=/nowhere/bus" }, { address: bus.address }],
    ...(jobTimeoutMs === undefined ? {} : { jobTimeoutMs }),
  });
  try {
    await use({ bus, systemd, units, tree });
  } finally {
    await units.close();
  }
}

describe("connectSystemd", { skip: busObstacle() }, () => {
  test("starts, changes and stops a slice", () =>
    withSystemd(async ({ systemd, units, tree }) => {
      assert.equal(await units.version(), 252);
      await units.start(SLICE, [
        { name: "Description", type: "s", value: "pods" },
        { name: "Wants", type: "as", value: ["kubepods.slice"] },
        { name: "DefaultDependencies", type: "b", value: false },
        { name: "MemoryMax", type: "t", value: INFINITY },
      ]);
      const path = "/kubepods.slice/kubepods-burstable.slice";
      assert.equal(await tree.exists(path), true);
      assert.equal(await tree.read(path, "memory.max"), "max");
      await units.start(SLICE, []);
      await units.setProperties(SLICE, [
        { name: "CPUWeight", type: "t", value: 79n },
        { name: "CPUQuotaPerSecUSec", type: "t", value: 340_000n },
        { name: "MemoryMax", type: "t", value: 2n ** 53n + 4096n },
      ]);
      assert.equal(await tree.read(path, "cpu.weight"), "79");
      assert.equal(await tree.read(path, "cpu.max"), "34000 100000");
      assert.equal(await tree.read(path, "memory.max"), String(2n ** 53n + 4096n));
      await units.stop("kubepods.slice");
      assert.equal(await tree.exists(path), false);
      await units.stop("kubepods.slice");
      assert.deepEqual([...systemd.units.keys()], []);
    }));

  test("what systemd refuses is an error that names the unit and says why", () =>
    withSystemd(async ({ units }) => {
      const weight = { name: "CPUWeight", type: "t", value: 1n } as const;
      await assert.rejects(units.setProperties("no.slice", [weight]), (thrown: unknown) => {
        assert.ok(isOutside(thrown, "notFound"));
        assert.match(thrown.message, /unit no\.slice: org.*NoSuchUnit: Unit no\.slice not loaded/);
        return true;
      });
      const odd = { name: "Colour", type: "s", value: "red" } as const;
      await assert.rejects(units.start(SLICE, [odd]), (thrown) => isOutside(thrown, "invalid"));
      await assert.rejects(units.start("a/b.slice", []), (thrown) => isOutside(thrown, "invalid"));
    }));

  test("a job that fails or never ends is an error", () =>
    withSystemd(async ({ systemd, units }) => {
      systemd.jobResult = "failed";
      await assert.rejects(units.start("a.slice", []), /its job ended with "failed"/);
      systemd.mute = true;
      await assert.rejects(units.start("b.slice", []), (thrown) => isOutside(thrown, "deadline"));
    }, 100));

  test("a connection that was lost is made again, and jobs in flight are started again", async () => {
    await withSystemd(async ({ bus, systemd, units, tree }) => {
      await units.start("a.slice", []);
      await systemd[Symbol.asyncDispose]();
      await assert.rejects(units.version(), (thrown) => isOutside(thrown, "unavailable"));
      await bus.kill();
      await assert.rejects(units.version(), (thrown) => isOutside(thrown, "unavailable"));
      await bus.start();
      await using again = await FakeSystemd.start({ address: bus.address, tree, jobMs: 50 });
      const stopping = units.stop("x.slice");
      await stopping;
      await units.start("b.slice", []);
      assert.deepEqual(again.jobs, ["stop x.slice", "start b.slice"]);
    });
  });

  test("many concurrent jobs each get their own result", () =>
    withSystemd(async ({ systemd, units }) => {
      const names = Array.from({ length: 50 }, (_, i) => `n${i}.slice`);
      await Promise.all(names.map((name) => units.start(name, [])));
      assert.deepEqual([...systemd.units.keys()].sort(), names.toSorted());
      await Promise.all(names.map((name) => units.stop(name)));
      assert.equal(systemd.units.size, 0);
    }));
});
