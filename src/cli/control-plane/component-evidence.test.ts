import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { componentEvidence } from "./component-evidence.ts";

test("componentEvidence: the last line of the newest container of each component", () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-evidence-"));
  try {
    const write = (pod: string, container: string, file: string, text: string) => {
      mkdirSync(join(folder, pod, container), { recursive: true });
      writeFileSync(join(folder, pod, container, file), text);
    };
    const time = "2026-11-29T12:00:00.000000000Z";
    write("kube-system_etcd-one_1", "etcd", "9.log", `${time} stderr F old\n`);
    write(
      "kube-system_etcd-one_1",
      "etcd",
      "10.log",
      `${time} stderr F first\n${time} stderr F no space left\n`,
    );
    write("kube-system_kube-apiserver-one_2", "kube-apiserver", "0.log", "");
    write("default_kube-scheduler-x_3", "kube-scheduler", "0.log", `${time} stdout F not ours\n`);
    assert.deepEqual(componentEvidence(folder), ["etcd wrote last: no space left"]);
    assert.deepEqual(componentEvidence(join(folder, "absent")), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
