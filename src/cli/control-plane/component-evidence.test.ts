import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { componentEvidence } from "./component-evidence.ts";

test("componentEvidence: the last line of the newest container of each component, of the newest pod", () => {
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
    for (const [pod, text, at] of [
      ["kube-system_kube-scheduler-one_1", "ended", 1],
      ["kube-system_kube-scheduler-one_2", "no such flag", 2],
    ] as const) {
      write(pod, "kube-scheduler", "0.log", `${time} stderr F ${text}\n`);
      utimesSync(join(folder, pod, "kube-scheduler/0.log"), at, at);
    }
    assert.deepEqual(componentEvidence(folder), [
      "etcd wrote last: no space left",
      "kube-scheduler wrote last: no such flag",
    ]);
    assert.deepEqual(componentEvidence(join(folder, "absent")), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
