import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createSystemClock } from "../../../kit/clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { ServerMounts } from "./server-mounts.ts";
import { UnansweredPlaces } from "./unanswered-places.ts";

const skip = process.getuid?.() === 0 ? false : "needs root: something is mounted";

const children = () =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);

test("mounts of file servers share one worker, whatever becomes of each", { skip }, async (t) => {
  const clock = createSystemClock();
  const servers = new ServerMounts(clock, new UnansweredPlaces({ clock, log: silentLog }));
  const target = mkdtempSync(join(tmpdir(), "server-mounts-"));
  t.after(() => rmSync(target, { recursive: true }));
  const before = children();
  const mounts = Array.from({ length: 12 }, (_, i) => ({
    source: `127.0.0.${1 + (i % 3)}:/nothing`,
    target,
    fsType: "nfs" as const,
    options: ["retry=0"],
  }));
  const all = Promise.allSettled(mounts.map((mount) => servers.mount(mount)));
  for (const [i, result] of (await all).entries()) {
    assert.equal(result.status, "rejected");
    const source = mounts[i]?.source;
    assert.match(String(result.reason), new RegExp(`mount -c -n -t nfs .* -- ${source} `));
  }
  assert.equal(children().length, before.length + 1);
  servers.close();
  await assert.rejects(async () => servers.mount(mounts[0] as never), /shutting down/);
});
