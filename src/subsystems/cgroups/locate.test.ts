import assert from "node:assert/strict";
import { test } from "node:test";
import { type GroupPlace, locateGroup } from "./locate.ts";

test("locateGroup finds pods and containers below any root", () => {
  const rows: readonly [string, "cgroupfs" | "systemd", GroupPlace][] = [
    ["/kubepods", "cgroupfs", { kind: "node" }],
    ["/box-1/kubepods/burstable", "cgroupfs", { kind: "tier", qos: "Burstable" }],
    ["/kubepods/besteffort", "cgroupfs", { kind: "tier", qos: "BestEffort" }],
    ["/kubepods/pod1-2", "cgroupfs", { kind: "pod", uid: "1-2" }],
    ["/kubepods/burstable/podx/abc", "cgroupfs", { kind: "container", uid: "x", group: "abc" }],
    [
      "/kubepods/burstable/podx/abc/deep/er",
      "cgroupfs",
      { kind: "container", uid: "x", group: "abc" },
    ],
    ["/", "cgroupfs", { kind: "other" }],
    ["/system.slice/ssh.service", "systemd", { kind: "other" }],
    ["/kubepods/odd", "cgroupfs", { kind: "other" }],
    [
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-abc.scope",
      "systemd",
      { kind: "container", uid: "1-2", group: "cri-containerd-abc.scope" },
    ],
    ["/kubepods.slice/kubepods-pod1_2.slice", "systemd", { kind: "pod", uid: "1-2" }],
    [
      "/a.slice/a-kubepods.slice/a-kubepods-besteffort.slice",
      "systemd",
      { kind: "tier", qos: "BestEffort" },
    ],
  ];
  for (const [path, driver, expected] of rows)
    assert.deepEqual(locateGroup(path, driver), expected, path);
});
