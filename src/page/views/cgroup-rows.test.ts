import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import type { ReportedGroup, ReportedValue } from "../../subsystems/cgroups/cgroups.ts";
import { cgroupRows, type MeasuredCgroups } from "./cgroup-rows.ts";

const value = (file: string, found: string, wanted = found): ReportedValue => ({
  file,
  found,
  wanted,
  state: found === wanted ? "same" : "differs",
});

const POD = "/nodelet/kubepods/burstable/podu1";

function report(groups: readonly ReportedGroup[]): MeasuredCgroups {
  return {
    version: 2,
    driver: "cgroupfs",
    differences: 0,
    groups,
    usage: { [POD]: { cpuMilli: 12, memoryBytes: 5, tasks: 3 } },
  };
}

const pods: readonly Pod[] = [
  {
    metadata: { namespace: "shop", name: "web" },
    spec: {
      containers: [
        { name: "a", resources: { requests: { cpu: "100m", memory: "1Ki" } } },
        { name: "b", resources: { requests: { cpu: "50m" } } },
      ],
    },
  },
];

const group = (
  path: string,
  kind: ReportedGroup["kind"],
  values: readonly ReportedValue[] = [],
): ReportedGroup => ({ path, kind, exists: true, values });

test("requests are added up the tree, and limits are those of the kernel", () => {
  const rows = cgroupRows(
    report([
      group("/nodelet/kubepods", "node", [value("memory.max", "1000")]),
      group("/nodelet/kubepods/burstable", "tier"),
      group("/nodelet/kubepods/besteffort", "tier"),
      {
        ...group(POD, "pod", [
          value("cpu.max", "50000 100000", "max 100000"),
          value("memory.max", "max"),
          value("pids.max", "64"),
        ]),
        pod: "shop/web",
      },
      { ...group(`${POD}/c1`, "container"), pod: "shop/web", container: "b" },
    ]),
    pods,
  );
  assert.deepEqual(
    rows.map(({ title, level, requested, enforced, drift, use }) => ({
      row: `${level} ${title}`,
      requests: requested?.cpuMilli,
      enforced,
      drift,
      use: use?.cpuMilli,
    })),
    [
      {
        row: "0 all pods",
        requests: 150,
        enforced: { memoryBytes: 1000 },
        drift: 0,
        use: undefined,
      },
      { row: "1 burstable pods", requests: 150, enforced: {}, drift: 0, use: undefined },
      { row: "1 besteffort pods", requests: undefined, enforced: {}, drift: 0, use: undefined },
      {
        row: "2 shop/web",
        requests: 150,
        enforced: { cpuMilli: 500, tasks: 64 },
        drift: 1,
        use: 12,
      },
      { row: "3 b", requests: 50, enforced: {}, drift: 0, use: undefined },
    ],
  );
});

for (const [what, values, expected] of [
  ["a quota of version 1", [["cpu.cfs_quota_us", "20000"]], { cpuMilli: 200 }],
  [
    "its period",
    [
      ["cpu.cfs_quota_us", "20000"],
      ["cpu.cfs_period_us", "50000"],
    ],
    { cpuMilli: 400 },
  ],
  [
    "none",
    [
      ["cpu.cfs_quota_us", "-1"],
      ["memory.limit_in_bytes", "9223372036854771712"],
    ],
    {},
  ],
] as const)
  test(`limits of cgroup v1: ${what}`, () => {
    const found = values.map(([file, text]) => value(file, text));
    const [row] = cgroupRows(report([group("/kubepods", "node", found)]), []);
    assert.deepEqual(row?.enforced, expected);
  });
