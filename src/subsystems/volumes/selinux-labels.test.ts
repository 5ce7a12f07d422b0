import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { volumeReports } from "../../../test/support/volume-reports.ts";
import type { Container } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { Volumes } from "./volumes.ts";

const OWN = ["empty", "files", "image"];
const POD: IdentifiedPod = {
  metadata: { name: "p", namespace: "default", uid: "u1" as PodUid },
  spec: {
    containers: [],
    volumes: [
      { name: "empty", emptyDir: {} },
      { name: "files", projected: { sources: [] } },
      { name: "image", image: { reference: "i:1" } },
      { name: "host", hostPath: { path: "/srv" } },
    ],
  },
};
const CONTAINER: Container = {
  name: "c",
  volumeMounts: [...OWN, "host"].map((name) => ({ name, mountPath: `/${name}` })),
  terminationMessagePath: "/end",
};

for (const hasSelinux of [true, false])
  test(`mounts asks the runtime for the container's label on what is the pod's own ${hasSelinux ? "with" : "but not without"} SELinux`, async () => {
    const clock = new SimClock();
    const host = new FakeHost({ clock });
    for (const folder of ["/srv", "/r/pods/u1"]) await host.files.makeDirectory(folder, 0o755);
    const volumes = new Volumes(
      {
        roots: { root: "/r", logs: "/l" },
        clusterDomain: "cluster.local",
        allocatable: { cpuMilli: 1000, memoryBytes: 2 ** 30, ephemeralStorageBytes: 2 ** 30 },
      },
      {
        clock,
        files: host.files,
        volumes: host.volumes,
        readKernel: (path) => (hasSelinux && path === "/sys/fs/selinux/enforce" ? "0" : undefined),
        ...volumeReports(() => {}),
      },
    );
    const work = volumes.mount(POD, new AbortController().signal);
    await clock.advance(1_000);
    await work;
    const { mounts } = await volumes.mounts({
      pod: POD,
      container: CONTAINER,
      restartCount: 0,
      env: [],
      features: { recursiveReadOnly: false, imageVolumes: true, imageSubPaths: false },
      podIps: ["10.0.0.5"],
      images: new Map(),
    });
    const labelled = mounts.flatMap(({ containerPath, selinuxRelabel }) =>
      selinuxRelabel === true ? [containerPath] : [],
    );
    const expected = [...OWN.map((name) => `/${name}`), "/etc/hosts", "/end"];
    assert.deepEqual(labelled, hasSelinux ? expected : []);
  });
