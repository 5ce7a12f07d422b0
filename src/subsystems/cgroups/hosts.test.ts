// Machines that are odd or hostile: what is reported, and what is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import { B, cgroupModule, G } from "../../../test/support/cgroup-module.ts";
import { container, ONE, podOf } from "../../../test/support/cgroup-pods.ts";
import { isOutside, OutsideError, UsageError } from "../../kit/errors.ts";

const POD = "/kubepods/burstable/podb";

interface Row {
  readonly what: string;
  /** Asked with operation and path; answers what goes wrong. */
  readonly fault: (operation: string, path: string) => OutsideError | undefined;
  /** Error of starting the module or creating the pod's cgroup. */
  readonly says: RegExp;
}

const readOnly = (path: string) =>
  new OutsideError("denied", `write to ${path}: EROFS: read-only file system`);

const ROWS: readonly Row[] = [
  {
    what: "a file system that takes no groups",
    fault: (operation, path) =>
      operation === "cgroup.create" && path === POD ? readOnly(path) : undefined,
    says: /\/kubepods\/burstable\/podb: EROFS/,
  },
  {
    what: "a group above that is threaded",
    fault: (operation, path) =>
      operation === "cgroup.create" && path === POD
        ? new OutsideError(
            "precondition",
            `create cgroup ${path}: cgroup.type is "domain threaded"`,
          )
        : undefined,
    says: /domain threaded/,
  },
  {
    what: "a group above with processes of its own",
    fault: (operation, path) =>
      operation === "cgroup.create" && path === POD
        ? new OutsideError("precondition", `create cgroup ${path}: EBUSY`, { retryable: true })
        : undefined,
    says: /EBUSY/,
  },
];

for (const { what, fault, says } of ROWS) {
  test(`${what}: the error reaches the pod, and nothing is left half created`, async () => {
    const { cgroups, host } = cgroupModule(2, {}, fault);
    await cgroups.start();
    await assert.rejects(cgroups.ensurePod(B), says);
    assert.equal(host.cgroups.paths.includes(POD), false);
    await cgroups.ensurePod(G);
    assert.ok(host.cgroups.paths.includes("/kubepods/podg"), "other pods get theirs");
  });
}

test("a group that vanishes while it is written is an error, not a pod without limits", async () => {
  const at = cgroupModule(2, {}, (operation, path) => {
    if (operation !== "cgroup.write" || !path.startsWith(`${POD}/`)) return undefined;
    void at.host.cgroups.destroy(POD);
    return undefined;
  });
  await at.cgroups.start();
  await assert.rejects(at.cgroups.ensurePod(B), (thrown) => isOutside(thrown, "notFound"));
  assert.equal(at.host.cgroups.paths.includes(POD), false);
});

test("a class whose group is gone is made again by the next pass", async () => {
  for (const version of [1, 2] as const) {
    const { cgroups, tree } = cgroupModule(version);
    await cgroups.start();
    await tree.destroy("/kubepods/besteffort");
    await cgroups.updateQos([G, B]).catch((thrown: unknown) => {
      assert.ok(isOutside(thrown, "notFound"), "it may say so");
    });
    await cgroups.start();
    assert.equal(await tree.exists("/kubepods/besteffort"), true);
  }
});

test("a read-only file system of groups: nothing happens to pods, and each step says which file", async () => {
  let isReadOnly = false;
  const { cgroups, host } = cgroupModule(1, {}, (operation, path) =>
    isReadOnly && /write|create|destroy/.test(operation) ? readOnly(path) : undefined,
  );
  await cgroups.start();
  await cgroups.ensurePod(G);
  const before = host.cgroups.paths;
  isReadOnly = true;
  await assert.rejects(cgroups.updateQos([G, B]), /\/kubepods\/burstable\/cpu\.shares: EROFS/);
  await assert.rejects(cgroups.ensurePod(B), /podb: EROFS/);
  await assert.rejects(cgroups.removePod("g", "Guaranteed"), /podg: EROFS/);
  const enforced = await cgroups.enforceNode();
  assert.equal(enforced.kind, "enforced", "what is as it should be is not written again");
  assert.deepEqual(host.cgroups.paths, before);
});

test("names with dashes and underscores: each driver spells them, or says that it cannot", async () => {
  const uid = "12345678-abcd-4000-8000-000000000001";
  const pod = podOf(uid, [container("c", ONE, ONE)]);
  const dashed = cgroupModule(2, { cgroupRoot: "/my-agents/the-node" });
  assert.equal(dashed.cgroups.podPath(pod), `/my-agents/the-node/kubepods/pod${uid}`);
  const systemd = cgroupModule(2, { cgroupRoot: "/my-agents", driver: "systemd" });
  const slice = `my_agents-kubepods-pod${uid.replaceAll("-", "_")}.slice`;
  assert.equal(systemd.cgroups.podPath(pod), `/my_agents.slice/my_agents-kubepods.slice/${slice}`);
  assert.throws(() => cgroupModule(2, { cgroupRoot: "/my_agents", driver: "systemd" }), UsageError);
  const under = cgroupModule(1, { cgroupRoot: "/my_agents" });
  await under.tree.create("/my_agents");
  await under.cgroups.start();
  await under.cgroups.ensurePod(pod);
  assert.deepEqual(
    (await under.cgroups.listPods()).map((one) => one.uid),
    [uid],
  );
});
