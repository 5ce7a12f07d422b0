// Volumes of file servers: in a pod's spec and by a claim.
import assert from "node:assert/strict";
import { test } from "node:test";
import { podOfClaims } from "../../../test/support/csi-disk.ts";
import { assertClean, beginLife } from "../../../test/support/csi-life.ts";
import { Mounts } from "../../outside/host/mounts/mounts.ts";

const inline = (nfs: { server: string; path: string; readOnly?: boolean }) =>
  podOfClaims("p", ["v"], { volumes: [{ name: "v", nfs }] });

test("28: mounted for the pod, unmounted after it; no driver, no attachment", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  const pod = inline({ server: "2001:db8::1", path: "/share", readOnly: true });
  await mounted(pod);
  const [mount, ...more] = await world.host.volumes.mountsWithin("/r/pods");
  assert.deepEqual(more, []);
  assert.deepEqual(mount, {
    path: "/r/pods/p/volumes/kubernetes.io~nfs/v",
    fsType: "nfs",
    source: "[2001:db8::1]:/share",
    readOnly: true,
    options: ["ro"],
  });
  await unmounted(pod);
  assert.equal(calls(), "");
  assert.equal(world.objects.asked.includes("volumeattachments"), false);
  await assertClean(world);
});

test("28b: by a claim, with the options of its volume; a restart mounts nothing on top", async () => {
  const { world, mounted, unmounted } = await beginLife();
  const { csi: _, ...spec } = world.volume("v").spec ?? {};
  const nfs = { server: "files.example.com", path: "/a", readOnly: true };
  world.objects.set("persistentvolumes", "v", {
    metadata: { name: "v" },
    spec: { ...spec, nfs, mountOptions: ["nfsvers=4.2", "hard"] },
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.killAgent();
  await world.startAgent();
  await mounted(pod);
  const mounts = await world.host.volumes.mountsWithin("/r/pods");
  assert.deepEqual(
    mounts.map(({ path, source, options }) => [path, source, ...options]),
    [["/r/pods/p/volumes/kubernetes.io~nfs/v", "files.example.com:/a", "hard", "nfsvers=4.2"]],
  );
  await unmounted(pod);
  await assertClean(world);
});

test("a server that would be an option of mount(8), and one that cannot be had", async () => {
  const { world, mounted, unmounted } = await beginLife();
  const failed = async (pod: Parameters<typeof mounted>[0]) => {
    const mount = world.mount(pod);
    await world.clock.advance(1_000);
    mount.stop();
    await mount.over;
    await unmounted(pod);
  };
  await failed(inline({ server: "-osuid", path: "/" }));
  assert.match(world.events[0] ?? "", /nfs.server "-osuid" is not the name of a file server$/);
  world.faulty.add("mount");
  await failed(inline({ server: "s", path: "/" }));
  assert.match(world.events.at(-1) ?? "", /MountVolume.SetUp failed for volume "v" : mount$/);
  await assertClean(world);
});

test("the program gets exactly these arguments, the source after all options", async () => {
  const ran: string[][] = [];
  const mounts = new Mounts(async (program, args) => {
    ran.push([program, ...args]);
  });
  const options = ["ro", "vers=4;rm -rf /"];
  await mounts.server({ source: "s:/a b", target: "/t", fsType: "nfs", options });
  assert.deepEqual(ran, [
    ["mount", "-c", "-n", "-t", "nfs", "-o", "ro,vers=4;rm -rf /", "--", "s:/a b", "/t"],
  ]);
});
