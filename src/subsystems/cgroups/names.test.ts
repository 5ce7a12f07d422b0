import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { UsageError } from "../../kit/errors.ts";
import {
  literalPath,
  parseCgroupRoot,
  parsePath,
  podName,
  podUidOf,
  QOS_CLASSES,
  tierName,
} from "./names.ts";

/** Name, as cgroupfs spells it, as systemd does. */
const SPELLINGS = [
  [[], "/", "/"],
  [["kubepods"], "/kubepods", "/kubepods.slice"],
  [
    ["kubepods", "burstable", "pod1234-abcd"],
    "/kubepods/burstable/pod1234-abcd",
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_abcd.slice",
  ],
  [["kubepods", "podabc"], "/kubepods/podabc", "/kubepods.slice/kubepods-podabc.slice"],
  [
    ["custom-root", "kubepods"],
    "/custom-root/kubepods",
    "/custom_root.slice/custom_root-kubepods.slice",
  ],
] as const;

test("names in both spellings, and back", () => {
  for (const [name, cgroupfs, systemd] of SPELLINGS) {
    assert.equal(literalPath(name, "cgroupfs"), cgroupfs);
    assert.equal(literalPath(name, "systemd"), systemd);
    assert.deepEqual(parsePath(cgroupfs, "cgroupfs"), name);
    assert.deepEqual(parsePath(systemd, "systemd"), name);
  }
});

test("each class has its place", () => {
  const paths = QOS_CLASSES.map((qos) => literalPath(podName([], qos, "u-1"), "cgroupfs"));
  assert.deepEqual(paths, [
    "/kubepods/podu-1",
    "/kubepods/burstable/podu-1",
    "/kubepods/besteffort/podu-1",
  ]);
  assert.deepEqual(tierName(["r"], "BestEffort"), ["r", "kubepods", "besteffort"]);
});

test("podUidOf knows pods and nothing else", () => {
  for (const [part, uid] of [
    ["pod1234-abcd", "1234-abcd"],
    ["poda", "a"],
    ["pod", undefined],
    ["burstable", undefined],
    ["mypoda", undefined],
    ["podapodb", "apodb"],
    ["", undefined],
  ] as const) {
    assert.equal(podUidOf(part), uid, part);
  }
});

test("a uid that could lead elsewhere names no group", () => {
  for (const uid of ["", "..", ".", "../x", "a/b", "a_b", "a b", "a\0"]) {
    assert.throws(() => podName([], "Burstable", uid), UsageError, uid);
  }
});

test("parseCgroupRoot", () => {
  assert.deepEqual(parseCgroupRoot("", "cgroupfs"), []);
  assert.deepEqual(parseCgroupRoot("/", "systemd"), []);
  assert.deepEqual(parseCgroupRoot("/a-b//c/", "systemd"), ["a-b", "c"]);
  assert.deepEqual(parseCgroupRoot("/a_b", "cgroupfs"), ["a_b"]);
  assert.throws(() => parseCgroupRoot("/a_b", "systemd"), UsageError);
  assert.throws(() => parseCgroupRoot("/a/../b", "cgroupfs"), UsageError);
});

const part = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,20}$/);

test("names of cgroupfs round trip, and pods of systemd keep their uid", () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (name) => {
      assert.deepEqual(parsePath(literalPath(name, "cgroupfs"), "cgroupfs"), name);
      assert.deepEqual(parsePath(literalPath(name, "systemd"), "systemd"), name);
    }),
  );
  fc.assert(
    fc.property(fc.uuid(), fc.constantFrom(...QOS_CLASSES), (uid, qos) => {
      for (const driver of ["cgroupfs", "systemd"] as const) {
        const path = literalPath(podName(["a-b"], qos, uid), driver);
        const [child = ""] = path.split("/").slice(-1);
        assert.equal(podUidOf(parsePath(child, driver).at(-1) ?? ""), uid);
      }
    }),
  );
});

test("different names never share a path", () => {
  const name = fc.array(part, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(name, name, (a, b) => {
      fc.pre(a.join("/") !== b.join("/"));
      for (const driver of ["cgroupfs", "systemd"] as const) {
        assert.notEqual(literalPath(a, driver), literalPath(b, driver));
      }
    }),
  );
});
