import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../../test/sim/fake-host.ts";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { volumeReports } from "../../../../test/support/volume-reports.ts";
import type { EmptyDirVolumeSource } from "../../../api/generated/types.ts";
import type { PodUid } from "../../../api/observation.ts";
import { Volumes } from "../volumes.ts";

const MODES: readonly (readonly [string, EmptyDirVolumeSource, boolean, number])[] = [
  ["none", {}, true, 0o777],
  ["for the owner and the group", { mode: 0o750 }, true, 0o750],
  ["with the sticky bit", { mode: 0o1777 }, true, 0o1777],
  ["for nobody", { mode: 0 }, true, 0],
  ["given while the gate is off", { mode: 0o750 }, false, 0o777],
];

for (const [what, emptyDir, emptyDirModes, expected] of MODES)
  test(`emptyDir with a mode: ${what}`, async () => {
    const clock = new SimClock();
    const host = new FakeHost({ clock });
    await host.files.makeDirectory("/r/pods/u1", 0o750);
    const volumes = new Volumes(
      {
        roots: { root: "/r", logs: "/l" },
        clusterDomain: "cluster.local",
        allocatable: { cpuMilli: 1000, memoryBytes: 2 ** 30, ephemeralStorageBytes: 2 ** 30 },
        emptyDirModes,
      },
      { clock, files: host.files, volumes: host.volumes, ...volumeReports(() => {}) },
    );
    const pod = {
      metadata: { name: "p", namespace: "default", uid: "u1" as PodUid },
      spec: { containers: [], volumes: [{ name: "v", emptyDir }] },
    };
    const mount = async () => {
      const work = volumes.mount(pod, new AbortController().signal);
      await clock.advance(1_000);
      await work;
    };
    await mount();
    const path = "/r/pods/u1/volumes/kubernetes.io~empty-dir/v";
    assert.equal((await host.files.facts(path))?.mode, expected);
    // What a container makes of it stays.
    await host.files.makeDirectory(path, 0o700);
    await mount();
    assert.equal((await host.files.facts(path))?.mode, 0o700);
  });
