import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { restoreMoved } from "./interrupted-upgrade.ts";

test("restoreMoved: a manifest that only the latest backup has comes back, and nothing else", () =>
  withTemporaryFolder(async (folder) => {
    const manifests = join(folder, "manifests");
    const [older, latest] = ["2026-11-28-10-00-00", "2026-11-29-09-00-00"].map((time) =>
      join(folder, "tmp", `kubeadm-backup-manifests-${time}`),
    );
    for (const path of [manifests, older, latest, join(folder, "tmp/kubeadm-backup-etcd-1")])
      mkdirSync(path ?? "", { recursive: true });
    const write = (path: string | undefined, name: string, text: string) =>
      writeFileSync(join(path ?? "", name), text);
    write(older, "kube-scheduler.yaml", "removed on purpose since");
    write(latest, "etcd.yaml", "old etcd");
    write(latest, "kube-apiserver.yaml", "old server");
    write(latest, "notes.txt", "no manifest");
    write(manifests, "etcd.yaml", "new etcd");
    assert.deepEqual(restoreMoved(folder), ["kube-apiserver.yaml"]);
    assert.deepEqual(readdirSync(manifests).sort(), ["etcd.yaml", "kube-apiserver.yaml"]);
    assert.equal(readFileSync(join(manifests, "etcd.yaml"), "utf8"), "new etcd");
    assert.equal(readFileSync(join(manifests, "kube-apiserver.yaml"), "utf8"), "old server");
    assert.ok(readdirSync(latest ?? "").includes("kube-apiserver.yaml"), "the backup stays");
    assert.deepEqual(restoreMoved(folder), []);
  }));

test("restoreMoved: nothing is done where kubeadm has kept nothing", () =>
  withTemporaryFolder(async (folder) => assert.deepEqual(restoreMoved(folder), [])));
