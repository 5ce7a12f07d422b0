import assert from "node:assert/strict";
import { test } from "node:test";
import { FAKE_FACTS, FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { B, BE } from "../../../test/support/cgroup-module.ts";
import { Cell } from "../../kit/cell.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { TaskScope } from "../../kit/scope.ts";
import type { Outside } from "../../outside/outside.ts";
import { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import { defaultCgroupOptions } from "../../subsystems/cgroups/options.ts";
import { Neighbors } from "../../subsystems/neighbors/neighbors.ts";
import { startHousekeeping } from "./housekeeping.ts";

test("groups of unknown pods go; one that cannot go yet is left hardly any CPU time", async () => {
  const clock = new SimClock();
  const host = new FakeHost({ clock, cgroupVersion: 1 });
  const cgroups = new Cgroups(
    { tree: host.cgroups, facts: FAKE_FACTS, clock, log: silentLog },
    defaultCgroupOptions(1),
  );
  await cgroups.start();
  for (const pod of [B, BE]) await cgroups.ensurePod(pod);
  const [stuck, other] = ["/kubepods/burstable/podb", "/kubepods/besteffort/podbe"];
  host.cgroups.addProcess(stuck, 77);
  host.cgroups.unkillable.add(77);
  const scope = new TaskScope("test", { clock, log: silentLog });
  const neighbors = new Neighbors("/root", { host, clock, scope, log: silentLog });
  const seen = new Cell(false);
  startHousekeeping(
    { roots: { root: "/root", logs: "/logs" } },
    {
      outside: { clock, log: silentLog, host } as unknown as Outside,
      scope,
      cgroups,
      neighbors,
      volumes: { clearOrphan: async () => {} },
      seen,
      released: new Cell(0),
      isKnown: () => false,
      metrics: new MetricsRegistry(),
    },
  );
  await clock.advance(100);
  assert.equal(await host.cgroups.exists(other), true, "not before every source was seen");
  seen.set(true);
  await clock.advance(100);
  assert.equal(await host.cgroups.exists(other), false);
  assert.equal(await host.cgroups.read(stuck, "cpu.shares"), "2");
  host.cgroups.removeProcess(77);
  await clock.advance(61_000);
  assert.equal(await host.cgroups.exists(stuck), false, "and goes when it can");
  await scope[Symbol.asyncDispose]();
});

test("what cannot be listed keeps nothing else from being removed", async () => {
  const clock = new SimClock();
  const broken = (op: string, path: string) =>
    op === "list" && path === "/root/pods"
      ? new OutsideError("io", "input/output error")
      : undefined;
  const host = new FakeHost({ clock, cgroupVersion: 1, fault: broken });
  await host.files.makeDirectory("/logs/default_web_uid-1", 0o755);
  const cgroups = new Cgroups(
    { tree: host.cgroups, facts: FAKE_FACTS, clock, log: silentLog },
    defaultCgroupOptions(1),
  );
  await cgroups.start();
  await cgroups.ensurePod(BE);
  const scope = new TaskScope("test", { clock, log: silentLog });
  const neighbors = new Neighbors("/root", { host, clock, scope, log: silentLog });
  startHousekeeping(
    { roots: { root: "/root", logs: "/logs" } },
    {
      outside: { clock, log: silentLog, host } as unknown as Outside,
      scope,
      cgroups,
      neighbors,
      volumes: { clearOrphan: async () => {} },
      seen: new Cell(true),
      released: new Cell(0),
      isKnown: () => false,
      metrics: new MetricsRegistry(),
    },
  );
  await clock.advance(1_000);
  assert.equal(await host.cgroups.exists("/kubepods/besteffort/podbe"), false);
  assert.deepEqual(await host.files.list("/logs"), []);
  await scope[Symbol.asyncDispose]();
});

test("what pods of another agent on the machine have stays, until that agent has removed them", async () => {
  const clock = new SimClock();
  const host = new FakeHost({ clock, cgroupVersion: 1 });
  const second = "/var/lib/kubelet second";
  await host.files.makeDirectory("/run/nodelet-agents", 0o755);
  for (const name of [encodeURIComponent(second), "%", "odd", encodeURIComponent("/none")])
    await host.files.writeAtomic(`/run/nodelet-agents/${name}`, "", 0o644);
  const theirs = BE.metadata?.uid ?? "";
  const usual = B.metadata?.uid ?? "";
  await host.files.makeDirectory(`${second}/pods/${theirs}`, 0o750);
  await host.files.makeDirectory(`/var/lib/kubelet/pods/${usual}`, 0o750);
  for (const uid of [theirs, usual, "nobodys"])
    await host.files.makeDirectory(`/logs/ns_web_${uid}`, 0o755);
  const cgroups = new Cgroups(
    { tree: host.cgroups, facts: FAKE_FACTS, clock, log: silentLog },
    defaultCgroupOptions(1),
  );
  await cgroups.start();
  for (const pod of [B, BE]) await cgroups.ensurePod(pod);
  const scope = new TaskScope("test", { clock, log: silentLog });
  const neighbors = new Neighbors("/root", { host, clock, scope, log: silentLog });
  await neighbors.announce();
  startHousekeeping(
    { roots: { root: "/root", logs: "/logs" } },
    {
      outside: { clock, log: silentLog, host } as unknown as Outside,
      scope,
      cgroups,
      neighbors,
      volumes: { clearOrphan: async () => {} },
      seen: new Cell(true),
      released: new Cell(0),
      isKnown: () => false,
      metrics: new MetricsRegistry(),
    },
  );
  const left = async () => [
    await host.cgroups.exists("/kubepods/besteffort/podbe"),
    await host.cgroups.exists("/kubepods/burstable/podb"),
    ((await host.files.list("/logs")) ?? []).map(({ name }) => name),
  ];
  await clock.advance(1_000);
  assert.deepEqual(await left(), [true, true, [`ns_web_${usual}`, `ns_web_${theirs}`]]);
  const notes = (await host.files.list("/run/nodelet-agents")) ?? [];
  assert.ok(notes.some(({ name }) => name === "%2Froot"));
  await host.files.removeTree(`${second}/pods/${theirs}`);
  await clock.advance(61_000);
  assert.deepEqual(await left(), [false, true, [`ns_web_${usual}`]]);
  await scope[Symbol.asyncDispose]();
});
