import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MonotonicMs } from "../../../kit/clock.ts";
import { parseMountinfo } from "../mounts/parse-mountinfo.ts";
import { afterTimeout, isForgotten, isWithin, mayTry, placeOf } from "./unanswered.ts";

const MOUNTS = parseMountinfo(`
20 1 254:0 / / rw - ext4 /dev/vda rw
21 20 254:1 / /var/lib/kubelet rw - xfs /dev/vdb rw
22 21 0:40 / /var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/m rw - tmpfs tmpfs rw
23 20 0:41 / /mnt/data rw - nfs4 server:/export rw
24 20 0:42 / /mnt/data2 rw - fuse.sshfs user@host:/ rw
25 24 0:43 / /mnt/data2/inner rw - fuse /dev/fuse rw
26 20 254:2 / /mnt/stick rw - fuseblk /dev/sda1 rw
`);

describe("placeOf", () => {
  const vectors: readonly (readonly [path: string, place: string, below: boolean])[] = [
    // A local disk: only the very path is suspected.
    ["/etc/passwd", "/etc/passwd", false],
    ["/var/lib/kubelet/pods/u/x", "/var/lib/kubelet/pods/u/x", false],
    [
      "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/m/a",
      "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/m/a",
      false,
    ],
    // Network and user space: the whole mount.
    ["/mnt/data", "/mnt/data", true],
    ["/mnt/data/a/b", "/mnt/data", true],
    ["/mnt/data2/a", "/mnt/data2", true],
    ["/mnt/data2/inner/a", "/mnt/data2/inner", true],
    ["/mnt/stick/a", "/mnt/stick", true],
    // No more than a common beginning.
    ["/mnt/database", "/mnt/database", false],
  ];
  for (const [path, place, below] of vectors)
    test(`${path} belongs to ${place}`, () => {
      const found = placeOf(path, MOUNTS);
      assert.deepEqual([found.path, found.below], [place, below]);
    });

  test("says which file system it is", () => {
    assert.equal(placeOf("/mnt/data/a", MOUNTS).shown, "nfs4 at /mnt/data");
    assert.equal(placeOf("/a", []).shown, "/a");
  });
});

test("isWithin takes whole names", () => {
  assert.ok(isWithin("/mnt/data/a", { path: "/mnt/data", below: true }));
  assert.ok(!isWithin("/mnt/data2", { path: "/mnt/data", below: true }));
  assert.ok(!isWithin("/mnt/data/a", { path: "/mnt/data", below: false }));
});

describe("afterTimeout", () => {
  const at = (ms: number) => ms as MonotonicMs;
  const place = placeOf("/mnt/data/a", MOUNTS);

  test("nothing is tried while a process is stuck, then after a pause that doubles", () => {
    let known = afterTimeout(undefined, place, { began: at(0), now: at(10_000) });
    assert.equal(mayTry(known, at(1_000_000)), false);
    const pauses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      const now = at(known.retryAt);
      assert.equal(mayTry({ ...known, stuck: 0 }, at(now - 1)), false);
      assert.equal(mayTry({ ...known, stuck: 0 }, now), true);
      known = afterTimeout({ ...known, stuck: 0 }, place, { began: now, now });
      pauses.push(known.retryAt - now);
    }
    assert.deepEqual(pauses, [10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
    assert.equal(known.since, 0);
  });

  test("a place that nobody asks for any more is forgotten, one with a stuck process never", () => {
    const known = afterTimeout(undefined, place, { began: at(0), now: at(10_000) });
    assert.equal(isForgotten(known, at(10_000_000)), false);
    assert.equal(isForgotten({ ...known, stuck: 0 }, at(known.retryAt + 60_000)), false);
    assert.equal(isForgotten({ ...known, stuck: 0 }, at(known.retryAt + 60_001)), true);
  });
});
