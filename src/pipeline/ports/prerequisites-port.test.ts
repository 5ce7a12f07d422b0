import assert from "node:assert/strict";
import { test } from "node:test";
import { cgroupModule, G } from "../../../test/support/cgroup-module.ts";
import type { PodUid } from "../../api/observation.ts";
import type { PodFact } from "../../api/pod-facts.ts";
import { CellMap } from "../../kit/cell-map.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { type PrerequisitesPortDeps, prerequisitesPort } from "./prerequisites-port.ts";

test("a pod gets its cgroup although that of a QoS class cannot be updated", async () => {
  const options = { qosReservedMemoryPercent: 100 };
  const { cgroups, tree, host } = cgroupModule(1, options, (operation, path) =>
    `${operation} ${path}` === "cgroup.write /kubepods/besteffort/memory.limit_in_bytes"
      ? new OutsideError("precondition", "busy")
      : undefined,
  );
  await cgroups.start();
  const podFacts = new CellMap<PodUid, PodFact>();
  podFacts.set(G.metadata.uid as PodUid, { pod: G, life: "running" } as PodFact);
  // All that making a cgroup needs.
  const deps = { outside: { host, log: silentLog }, cgroups, podFacts };
  const roots = { root: "/var/lib/kubelet", logs: "/var/log/pods" };
  const port = prerequisitesPort(roots, deps as unknown as PrerequisitesPortDeps);
  assert.equal(await port.createCgroup(G), true);
  assert.equal(await tree.read("/kubepods/podg", "memory.limit_in_bytes"), String(2 ** 30));
});
