import assert from "node:assert/strict";
import { test } from "node:test";
import { GI, ID, POD, statsWorld } from "../../../test/support/stats-world.ts";
import { availableMemory } from "../../api/figures/figures.ts";

/** Of 8 GiB: pages as the kernel counts them (`Hugetlb`, kB), what is free, the gate, what is available. */
const HUGEPAGES: readonly (readonly [string, string, boolean, number])[] = [
  ["none, with the gate", "MemFree: 7340032 kB", true, 7 * GI + 2 ** 20],
  ["1 GiB", "Hugetlb: 1048576 kB\nMemFree: 6291456 kB", true, 6 * GI + 2 ** 20],
  ["1 GiB, gate off", "Hugetlb: 1048576 kB\nMemFree: 6291456 kB", false, 7 * GI + 2 ** 20],
  ["all of it", "Hugetlb: 8388608 kB\nMemFree: 0 kB", true, 0],
  ["1 GiB at the start, not counted", "MemFree: 6291456 kB", true, 6 * GI + 2 ** 20],
];
for (const [what, lines, hugepageAware, available] of HUGEPAGES)
  for (const version of [1, 2] as const)
    test(`v${version}: memory of the node that is available with huge pages: ${what}`, async () => {
      const pages = what.includes("not counted") ? 1 : 0;
      const { stats, host } = await statsWorld(version, undefined, {
        hugepageAware,
        hugepages: [{ sizeBytes: GI, pages }],
      });
      host.kernelFiles.set("/proc/meminfo", `MemTotal: 8388608 kB\n${lines}`);
      // The root counter of version 1 does not count huge pages either.
      if (version === 1) host.cgroups.set("/", "memory.usage_in_bytes", `${GI}`);
      for (const onlyCpuAndMemory of [true, false]) {
        const { node } = await stats.summary({ onlyCpuAndMemory });
        const { memory } = node as { readonly memory: { readonly availableBytes: number } };
        assert.equal(memory.availableBytes, what === "all of it" ? 0 : available);
      }
      const { memory } = stats.machine().group;
      assert.equal(memory && availableMemory(memory)?.available, available);
    });

for (const version of [1, 2] as const)
  test(`v${version}: the page has the OOM events that the watcher counted, and 0 for other groups`, async () => {
    const { stats, oomCounts, host } = await statsWorld(version);
    // What the kernel counts of a group, with those beneath and from before the agent, is not shown.
    host.cgroups.set(`${POD}/${ID}`, "memory.events", "oom 9\noom_kill 9");
    oomCounts.add(`/outer${POD}/${ID}`);
    oomCounts.add(`${POD}/${ID}`);
    const lines = (await stats.cadvisorPage()).match(/^container_oom_events_total.*$/gm) ?? [];
    const shown = lines.map((line) => /id="([^"]*)".*\} (\d+)/.exec(line)?.slice(1).join(" "));
    assert.deepEqual(shown.toSorted(), [
      "/ 0",
      "/kubepods 0",
      "/kubepods/burstable 0",
      "/kubepods/burstable 0",
      `${POD} 0`,
      `${POD}/${ID} 2`,
    ]);
  });

for (const version of [1, 2] as const)
  test(`v${version}: the page has events of memory limits and what is reserved, 0 where the kernel has none`, async () => {
    const { stats, host } = await statsWorld(version);
    const path = `${POD}/${ID}`;
    host.cgroups.set(path, "memory.events", "low 1\nhigh 7\nmax 9\noom 0");
    host.cgroups.set(path, "memory.min", `${GI}`);
    // As the kernel writes that there is none.
    host.cgroups.set(path, "memory.soft_limit_in_bytes", "9223372036854771712");
    const page = await stats.cadvisorPage();
    const value = (name: string) =>
      new RegExp(`^container_${name}\\{[^}]*id="${path}"[^}]*\\} (\\d+)`, "m").exec(page)?.[1];
    const names = ["memory_events_high_total", "memory_events_max_total"];
    assert.deepEqual(names.map(value), version === 2 ? ["7", "9"] : ["0", "0"]);
    assert.equal(value("spec_memory_reservation_limit_bytes"), version === 2 ? `${GI}` : "0");
  });
