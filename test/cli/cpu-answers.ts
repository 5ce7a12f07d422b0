/** What the agent answers about CPUs, for tests of commands. */
import type { PodUid } from "../../src/api/pod-identity.ts";
import type { CpuReport } from "../../src/present/shapes.ts";
import { reportCpus } from "../../src/subsystems/cpus/cpu-report.ts";
import { cpuOptionsOf } from "../../src/subsystems/cpus/options.ts";
import { MACHINES } from "../../src/subsystems/cpus/take/machines.vectors.ts";
import { unitsOf } from "../../src/subsystems/cpus/take/units.ts";

/** Eight CPUs of four cores; core 0 is reserved, core 1 and one thread of core 2 belong to a pod, one CPU is offline. */
export function aCpuReport(): CpuReport {
  const uid = "uid-db" as PodUid;
  return reportCpus({
    machine: { topology: MACHINES.A, offline: [8] },
    policy: {
      units: unitsOf(MACHINES.A),
      nodes: [0],
      reserved: [0, 4],
      options: cpuOptionsOf({ "strict-cpu-reservation": "true" }),
    },
    state: {
      shared: [3, 6, 7],
      pods: new Map([
        [
          uid,
          new Map([
            ["db", [1, 5]],
            ["side", [2]],
          ]),
        ],
      ]),
    },
    nameOf: () => ({ namespace: "data", name: "db-edge-1" }),
  });
}
