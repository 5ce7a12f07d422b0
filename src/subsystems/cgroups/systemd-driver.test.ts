import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAKE_FACTS, FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { B, BE, G, runExample } from "../../../test/support/cgroup-module.ts";
import { container, podOf } from "../../../test/support/cgroup-pods.ts";
import { withSystemdModule } from "../../../test/support/cgroup-systemd.ts";
import { busObstacle } from "../../../test/systemd/private-bus.ts";
import { OutsideError, UsageError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { Cgroups } from "./cgroups.ts";
import { defaultCgroupOptions } from "./options.ts";
import { runtimeCgroupDriver } from "./runtime-driver.ts";

const BURSTABLE = "/kubepods.slice/kubepods-burstable.slice";

describe("the systemd driver", { skip: busObstacle() }, () => {
  for (const version of [1, 2] as const) {
    test(`the worked example on v${version}: slices, properties and files agree`, async () => {
      const { cgroups: tree } = new FakeHost({ clock: new SimClock(), cgroupVersion: version });
      await withSystemdModule(
        tree,
        { qosReservedMemoryPercent: 100 },
        async ({ cgroups, systemd }) => {
          await runExample(cgroups);
          assert.deepEqual(await cgroups.drift([G, B, BE]), []);
          assert.deepEqual([...systemd.units.keys()].sort(), [
            "kubepods-besteffort-podbe.slice",
            "kubepods-besteffort.slice",
            "kubepods-burstable-podb.slice",
            "kubepods-burstable.slice",
            "kubepods-podg.slice",
            "kubepods.slice",
          ]);
          const pod = systemd.units.get("kubepods-burstable-podb.slice");
          assert.equal(
            pod?.get(version === 2 ? "CPUWeight" : "CPUShares"),
            version === 2 ? 79n : 2048n,
          );
          assert.equal(pod?.get("CPUQuotaPerSecUSec"), 3_000_000n);
          assert.deepEqual(pod?.get("Wants"), ["kubepods-burstable.slice"]);
          const tier = systemd.units.get("kubepods-burstable.slice");
          assert.equal(tier?.get(version === 2 ? "MemoryMax" : "MemoryLimit"), 7n * 2n ** 30n);
          const jobs = systemd.jobs.length;
          await cgroups.updateQos([G, B, BE]);
          assert.equal(systemd.jobs.length, jobs, "nothing changed, so systemd is not called");
          await cgroups.removePod("b", "Burstable");
          assert.equal(systemd.units.has("kubepods-burstable-podb.slice"), false);
          assert.equal(await tree.exists(`${BURSTABLE}/kubepods-burstable-podb.slice`), false);
          assert.deepEqual(
            (await cgroups.listPods()).map(({ uid }) => uid),
            ["g", "be"],
          );
        },
      );
    });
  }

  test("a quota is whole percents, in the group as in the unit", async () => {
    const { cgroups: tree } = new FakeHost({ clock: new SimClock() });
    await withSystemdModule(tree, {}, async ({ cgroups, systemd }) => {
      const odd = podOf("1-2", [container("a", {}, { cpu: "123m", memory: "1Gi" })]);
      await cgroups.start();
      await cgroups.ensurePod(odd);
      const path = cgroups.podPath(odd);
      assert.equal(await tree.read(path, "cpu.max"), "13000 100000");
      const [unit] = [...systemd.units.keys()].filter((name) => name.includes("pod1_2"));
      assert.equal(systemd.units.get(unit ?? "")?.get("CPUQuotaPerSecUSec"), 130_000n);
    });
  });

  test("a reservation is set in systemd too", async () => {
    const { cgroups: tree } = new FakeHost({ clock: new SimClock() });
    const options = {
      enforceNodeAllocatable: ["pods", "system-reserved"],
      systemReserved: { cpu: "1", memory: "1Gi" },
      systemReservedCgroup: "/system.slice",
    };
    await withSystemdModule(tree, options, async ({ cgroups, systemd }) => {
      await assert.rejects(cgroups.start(), /system\.slice does not exist/);
      await tree.create("/system.slice");
      systemd.units.set("system.slice", new Map());
      await cgroups.start();
      assert.equal(systemd.units.get("system.slice")?.get("MemoryMax"), 2n ** 30n);
      assert.equal(await tree.read("/system.slice", "cpu.weight"), "39");
    });
  });

  test("a pod's slice that systemd will not start leaves nothing behind", async () => {
    const { cgroups: tree } = new FakeHost({ clock: new SimClock() });
    await withSystemdModule(tree, {}, async ({ cgroups, systemd }) => {
      await cgroups.start();
      systemd.jobResult = "failed";
      await assert.rejects(cgroups.ensurePod(G), /its job ended with "failed"/);
      assert.equal(await tree.exists("/kubepods.slice/kubepods-podg.slice"), false);
    });
  });
});

test("without systemd its driver is refused with what to do", async () => {
  const host = new FakeHost({ clock: new SimClock() });
  const deps = { tree: host.cgroups, facts: FAKE_FACTS, clock: new SimClock(), log: silentLog };
  const options = { ...defaultCgroupOptions(2), driver: "systemd" } as const;
  await assert.rejects(new Cgroups(deps, options).start(), UsageError);
  const units = {
    version: () => Promise.reject(new OutsideError("unavailable", "nobody there")),
    start: async () => {},
    setProperties: async () => {},
    stop: async () => {},
  };
  const there = new Cgroups({ ...deps, systemd: units }, options);
  await assert.rejects(there.start(), /cgroupDriver "systemd": nobody there; use "cgroupfs"/);
});

test("a pod's slice for which systemd did not take the limits gets them at the next attempt", async () => {
  const host = new FakeHost({ clock: new SimClock() });
  const deps = { tree: host.cgroups, facts: FAKE_FACTS, clock: new SimClock(), log: silentLog };
  let fails = true;
  const units = {
    version: async () => 252,
    start: async () => {},
    setProperties: async (unit: string) => {
      if (fails && unit.includes("podg")) throw new OutsideError("deadline", "no answer");
    },
    stop: async () => Promise.reject(new OutsideError("deadline", "no answer")),
  };
  const options = { ...defaultCgroupOptions(2), driver: "systemd" } as const;
  const cgroups = new Cgroups({ ...deps, systemd: units }, options);
  await cgroups.start();
  await assert.rejects(cgroups.ensurePod(G), /no answer/);
  fails = false;
  await cgroups.ensurePod(G);
  assert.equal(await host.cgroups.read(cgroups.podPath(G), "memory.max"), String(2 ** 30));
});

/** Asks a runtime that gives these answers one after the other; the last one is repeated. */
async function askDriver(...answers: readonly (number | "none" | OutsideError["code"])[]) {
  const clock = new SimClock();
  const metrics = new MetricsRegistry();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const left = [...answers];
  let asked = 0;
  const runtimeConfig = async () => {
    asked += 1;
    const answer = left.length > 1 ? left.shift() : left[0];
    if (typeof answer === "number") return { linux: { cgroupDriver: answer } };
    if (answer === "none") return { linux: undefined };
    throw new OutsideError(answer as OutsideError["code"], "no");
  };
  const runtime = { runtimeConfig } as Parameters<typeof runtimeCgroupDriver>[0];
  const { signal } = new AbortController();
  const driver = runtimeCgroupDriver(runtime, { log, metrics, clock }, signal);
  await Promise.all([clock.advance(60_000), driver.catch(() => {})]);
  return { driver, asked, warnings, text: metrics.expose() };
}

test("the runtime's driver is asked for, and not having one is fine", async () => {
  for (const [answers, driver, questions] of [
    [[0], "systemd", 1],
    [[1], "cgroupfs", 1],
    [["none"], undefined, 1],
    [["unimplemented"], undefined, 1],
    [["unavailable", "deadline", "unavailable", "deadline", 1], "cgroupfs", 5],
  ] as const) {
    const result = await askDriver(...answers);
    assert.deepEqual([await result.driver, result.asked], [driver, questions], answers.join());
    const isLosing = result.text.includes('kubelet_cri_losing_support{version="1.38.0"} 1');
    assert.equal(isLosing, answers[0] === "unimplemented", answers.join());
    const [warning = "none"] = result.warnings;
    assert.equal(
      result.warnings.length,
      typeof answers[0] === "number" || answers[0] === "none" ? 0 : 1,
    );
    assert.equal(/From Kubernetes 1\.38 on/.test(warning), isLosing, warning);
  }
});

test("a driver that is not known refuses the start with what to do", async () => {
  const { driver } = await askDriver(7);
  await assert.rejects(driver, UsageError);
  await assert.rejects(driver, /unknown cgroup driver 7: configure systemd or cgroupfs/);
});
