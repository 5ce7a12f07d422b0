// A sub path whose file system has gone: at the container's next start it is mounted again, from what is there now.
import assert from "node:assert/strict";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import { createFileWorkers } from "../../src/outside/host/worker/file-workers.ts";
import { fuseObstacle, TestFilesystem } from "../support/fuse/test-filesystem.ts";

const clock = createSystemClock();
const whole = { maxBytes: 100 };

interface Volume {
  readonly host: ReturnType<typeof connectHost>;
  readonly root: string;
  readonly target: string;
  readonly bind: () => Promise<void>;
}

async function withVolume(play: (volume: Volume) => Promise<void>): Promise<void> {
  const fileWorkers = createFileWorkers({ clock, log: silentLog });
  const host = connectHost({ clock, log: silentLog, fileWorkers });
  const folder = mkdtempSync(join(tmpdir(), "stale-"));
  const [root, target] = [join(folder, "v"), join(folder, "t")];
  mkdirSync(root);
  const bind = () => host.volumes.bindBeneath({ root, relativePath: "file", target });
  try {
    await play({ host, root, target, bind });
  } finally {
    await host.volumes.unmount(target);
    fileWorkers.close();
    rmSync(folder, { recursive: true });
  }
}

/** Mounts a second file system over the first and binds the sub path again: it has to show the second one alone. */
async function bindAgain({ host, root, target, bind }: Volume): Promise<void> {
  const second = await TestFilesystem.mount(root);
  try {
    await bind();
    assert.equal(await host.podFiles.readText(target, whole), "hello\n");
    assert.equal((await host.volumes.mountsWithin(target)).length, 1);
  } finally {
    await host.volumes.unmount(target);
    second.end();
  }
}

test(
  "a sub path on a file system whose server has ended is mounted again",
  { skip: fuseObstacle() ?? false },
  () =>
    withVolume(async (volume) => {
      const { host, root, target, bind } = volume;
      const first = await TestFilesystem.mount(root);
      await bind();
      assert.equal(await host.podFiles.readText(target, whole), "hello\n");
      first.end();
      // A request that is under way as the server ends is aborted.
      assert.throws(() => statSync(target), /ENOTCONN|ECONNABORTED/);
      await bindAgain(volume);
    }),
);

test(
  "a sub path that shows another object is taken away even while that is in use",
  { skip: fuseObstacle() ?? false },
  () =>
    withVolume(async (volume) => {
      const first = await TestFilesystem.mount(volume.root);
      await volume.bind();
      // With an ordinary umount this would be EBUSY.
      const open = openSync(volume.target, "r");
      try {
        await bindAgain(volume);
      } finally {
        closeSync(open);
        first.end();
      }
    }),
);
