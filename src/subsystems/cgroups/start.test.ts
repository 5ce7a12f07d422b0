import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemoryQos } from "./settings.ts";
import { checkRoot, memoryQosWarning } from "./start.ts";

const ON: MemoryQos = { reservation: "None", pageBytes: 4096 };

/** Cgroup version, kernel, and what is warned of with the gate MemoryQoS. */
const ROWS: readonly (readonly [1 | 2, string, RegExp | undefined])[] = [
  [2, "6.1.0-18-amd64", undefined],
  [2, "5.9.0", undefined],
  [2, "5.8.18", /kernel 5\.9/],
  [2, "4.19.0-26-amd64", /kernel 5\.9/],
  [1, "6.1.0-18-amd64", /cgroup v1/],
  [1, "4.19.0", /cgroup v1/],
];
for (const [version, kernelVersion, expected] of ROWS)
  test(`memoryQosWarning: cgroup v${version} on kernel ${kernelVersion}`, () => {
    const warning = memoryQosWarning({ version, memoryQos: ON }, { kernelVersion });
    if (expected === undefined) assert.equal(warning, undefined);
    else assert.match(warning ?? "", expected);
    assert.equal(memoryQosWarning({ version }, { kernelVersion }), undefined, "gate off");
  });

test("checkRoot: the group that is not there is named as the driver spells it", async () => {
  const tree = { exists: async (path: string) => path === "/there" };
  const root = ["all", "pods"];
  await assert.rejects(
    checkRoot(tree, { root, driver: "cgroupfs" }, "/all/pods"),
    /^UsageError: cgroupRoot "\/all\/pods": no cgroup \/all\/pods with all controllers; create it/,
  );
  await assert.rejects(
    checkRoot(tree, { root, driver: "systemd" }, "/all/pods"),
    /no cgroup \/all\.slice\/all-pods\.slice with all controllers/,
  );
  await checkRoot(tree, { root: ["there"], driver: "cgroupfs" }, "/there");
  await checkRoot(tree, { root: [], driver: "systemd" }, "/");
});
