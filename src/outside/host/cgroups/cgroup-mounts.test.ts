import assert from "node:assert/strict";
import { test } from "node:test";
import { mountOf, mountPointsWithin, parseMountinfo } from "../mounts/parse-mountinfo.ts";
import { findCgroupMounts } from "./cgroup-mounts.ts";

const find = (text: string) => findCgroupMounts(parseMountinfo(text));

test("parseMountinfo reads all fields, optional ones skipped, escapes undone", () => {
  const text =
    "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n" +
    "40 36 0:33 / /run/a\\040b\\134c ro,nosuid - tmpfs tmp\\011fs rw,size=1k\n" +
    "not a line of mountinfo\n\n";
  assert.deepEqual(parseMountinfo(text), [
    {
      mountId: 36,
      parentId: 35,
      device: "98:0",
      root: "/mnt1",
      mountPoint: "/mnt2",
      fsType: "ext3",
      source: "/dev/root",
      superOptions: ["rw", "errors=continue"],
      readOnly: false,
      shared: true,
    },
    {
      mountId: 40,
      parentId: 36,
      device: "0:33",
      root: "/",
      mountPoint: "/run/a b\\c",
      fsType: "tmpfs",
      source: "tmp\tfs",
      superOptions: ["rw", "size=1k"],
      readOnly: true,
      shared: false,
    },
  ]);
});

test("mountOf finds the mount that shows a path: the longest, and of several the topmost", () => {
  const entries = parseMountinfo(
    ["/", "/a", "/a/b", "/ab", "/a"].map((p, i) => `${i} 0 0:1 / ${p} rw - tmpfs t rw`).join("\n"),
  );
  const idOf = (path: string) => mountOf(entries, path)?.mountId;
  assert.deepEqual([idOf("/a/x"), idOf("/a/b"), idOf("/abc"), idOf("/")], [4, 2, 0, 0]);
  assert.equal(mountOf([], "/a"), undefined);
});

test("mountPointsWithin takes whole names only", () => {
  const entries = parseMountinfo(
    ["/a", "/a/b", "/ab", "/"].map((p, i) => `${i} 0 0:1 / ${p} rw - tmpfs t rw`).join("\n"),
  );
  assert.deepEqual(mountPointsWithin(entries, "/a"), ["/a", "/a/b"]);
  assert.equal(mountPointsWithin(entries, "/").length, 4);
});

test("findCgroupMounts: systemd with v2", () => {
  const text = "26 23 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
  assert.deepEqual(find(text), { version: 2, mountPoint: "/sys/fs/cgroup" });
});

const HYBRID = [
  "25 18 0:22 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755",
  "26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate",
  "27 25 0:24 / /sys/fs/cgroup/systemd rw,nosuid shared:11 - cgroup cgroup rw,xattr,name=systemd",
  "30 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:15 - cgroup cgroup rw,cpu,cpuacct",
  "31 25 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:16 - cgroup cgroup rw,memory",
  "32 25 0:29 / /sys/fs/cgroup/net_cls,net_prio rw shared:17 - cgroup cgroup rw,net_cls,net_prio",
].join("\n");

test("findCgroupMounts: hybrid is v1, controllers that share a hierarchy stay together", () => {
  assert.deepEqual(find(HYBRID), {
    version: 1,
    hierarchies: [
      { mountPoint: "/sys/fs/cgroup/memory", controllers: ["memory"] },
      { mountPoint: "/sys/fs/cgroup/systemd", controllers: ["systemd"] },
      { mountPoint: "/sys/fs/cgroup/cpu,cpuacct", controllers: ["cpu", "cpuacct"] },
      { mountPoint: "/sys/fs/cgroup/net_cls,net_prio", controllers: ["net_cls", "net_prio"] },
    ],
    hybrid: "/sys/fs/cgroup/unified",
  });
});

test("findCgroupMounts: views of a part, in a container and beside the whole", () => {
  const text = [
    "700 690 0:27 /docker/abc /sys/fs/cgroup/cpu ro,nosuid master:15 - cgroup cgroup rw,cpu",
    "701 690 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory",
    "702 690 0:28 /docker/abc/x /sys/fs/cgroup/memory/docker/abc/x rw - cgroup cgroup rw,memory",
    "703 690 0:27 / /host/cgroup/cpu rw - cgroup cgroup rw,cpu",
  ].join("\n");
  assert.deepEqual(find(text), {
    version: 1,
    hierarchies: [
      { mountPoint: "/sys/fs/cgroup/cpu", controllers: ["cpu"] },
      { mountPoint: "/sys/fs/cgroup/memory", controllers: ["memory"] },
    ],
  });
});

test("findCgroupMounts: a cgroup namespace, v2 elsewhere, nothing at all", () => {
  const inside = "900 800 0:22 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw";
  assert.deepEqual(find(inside), { version: 2, mountPoint: "/sys/fs/cgroup" });
  const elsewhere = "26 23 0:22 / /mnt/cg rw - cgroup2 none rw";
  assert.deepEqual(find(elsewhere), { version: 2, mountPoint: "/mnt/cg" });
  const onlyNamed = "27 25 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd";
  assert.equal(find(onlyNamed), undefined);
  assert.equal(find(""), undefined);
});

test("findCgroupMounts: of two mounts at one place the later one is seen", () => {
  const text = [
    "1 0 0:1 /a /sys/fs/cgroup/memory rw - cgroup a rw,memory",
    "2 0 0:2 / /sys/fs/cgroup/cpu rw - cgroup a rw,cpu",
    "3 1 0:1 / /sys/fs/cgroup/memory rw - cgroup b rw,memory",
  ].join("\n");
  const found = find(text);
  assert.equal(found?.version, 1);
  assert.equal(found?.version === 1 && found.hierarchies.length, 2);
});
