import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fuseObstacle, TestFilesystem } from "../../../test/support/fuse/test-filesystem.ts";
import { LoopDevice, loopObstacle } from "../../../test/support/loop-device.ts";
import { localVolumePaths } from "../../api/plugin-paths.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import { connectHost } from "../../outside/host/connect-host.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";
import { newRemoval, removeMounts } from "./remove-made.ts";

const pathsIn = (folder: string) =>
  upPaths({ ...DEFAULT_PLACES, stateDir: `${folder}/state`, runDir: `${folder}/run` });

const notRoot = process.getuid?.() !== 0 && "needs root: devices are mounted";

test("removeMounts gives devices back and unmounts file systems", {
  skip: notRoot || (loopObstacle() ?? false),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-cli-"));
  const disks = ["a", "b"].map((name) => LoopDevice.over(join(folder, name)));
  try {
    const host = connectHost({ clock: createSystemClock(), log: silentLog });
    const paths = pathsIn(folder);
    const { mounts, nodes } = localVolumePaths(paths.agentRoot);
    const [a, b] = disks;
    assert.ok(a && b);
    const target = `${mounts}/files`;
    mkdirSync(target, { recursive: true });
    await host.volumes.mountDevice({ source: a.path, target, fsType: "ext4", options: [] });
    await host.volumes.mapDevice(b.path, `${nodes}/raw/uid`);
    const removal = newRemoval();
    await removeMounts(paths, host, removal);
    assert.deepEqual(removal.left, []);
    assert.deepEqual(await host.volumes.mountsWithin(folder), []);
    assert.equal(existsSync(`${nodes}/raw/uid`), false);
  } finally {
    for (const disk of disks) disk?.detach();
    rmSync(folder, { recursive: true });
  }
});

test("removeMounts takes mounts upon mounts away, and those of neighbours not", {
  skip: notRoot,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-cli-"));
  const host = connectHost({ clock: createSystemClock(), log: silentLog });
  const paths = pathsIn(folder);
  const neighbour = `${paths.agentRoot}-2`;
  const own = [`${paths.agentRoot}/a`, `${paths.agentRoot}/a/b c`, paths.containerd.state];
  try {
    for (const path of [...own, neighbour]) {
      mkdirSync(path, { recursive: true });
      await host.volumes.mountMemory(path, {});
    }
    const removal = newRemoval();
    await removeMounts(paths, host, removal);
    assert.deepEqual(removal.left, []);
    const left = await host.volumes.mountsWithin(folder);
    assert.deepEqual(
      left.map(({ path }) => path),
      [neighbour],
    );
  } finally {
    await host.volumes.unmount(neighbour);
    rmSync(folder, { recursive: true });
  }
});

test("removeMounts takes away a file system that does not answer", {
  skip: notRoot || (fuseObstacle() ?? false),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-cli-"));
  const host = connectHost({ clock: createSystemClock(), log: silentLog });
  const paths = pathsIn(folder);
  const dead = `${paths.agentRoot}/pods/uid/volumes/dead`;
  mkdirSync(dead, { recursive: true });
  const filesystem = await TestFilesystem.mount(dead);
  try {
    await filesystem.become("hang");
    const removal = newRemoval();
    await removeMounts(paths, host, removal);
    assert.deepEqual(removal.left, []);
    assert.deepEqual(await host.volumes.mountsWithin(folder), []);
  } finally {
    filesystem.end();
    rmSync(folder, { recursive: true });
  }
});
