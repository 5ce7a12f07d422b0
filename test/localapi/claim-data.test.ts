// The data of claims is touched by worker processes only: however much there is of it, the agent goes on.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PersistentVolume } from "../../src/api/generated/types.ts";
import type { Files } from "../../src/outside/host/host.ts";
import { LocalApiUnderTest } from "./local-api.ts";

const WAIT_MS = 30_000;
const CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES = "/api/v1/persistentvolumes";

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    assert.ok(performance.now() < deadline, what);
    await sleep(50);
  }
}

test("data of claims is made and removed by worker processes", async () => {
  const touched: string[] = [];
  const api: LocalApiUnderTest = new LocalApiUnderTest({
    guard: (files): Files => ({
      ...files,
      makeDirectory: async (path, mode) => {
        touched.push(path);
        await files.makeDirectory(path, mode);
      },
    }),
  });
  await using server = await api.start();
  await server.must("POST", CLASSES, {
    metadata: { name: "now" },
    provisioner: "nodelet.dev/local",
    volumeBindingMode: "Immediate",
  });
  await server.must("POST", CLAIMS, {
    metadata: { name: "data" },
    spec: {
      storageClassName: "now",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Mi" } },
    },
  });
  const volumes = async () =>
    (await server.must<{ items: readonly PersistentVolume[] }>("GET", VOLUMES)).items;
  const [volume] = await until("no volume is bound", async () => {
    const all = await volumes();
    return all[0]?.status?.phase === "Bound" ? all : undefined;
  });
  const path = volume?.spec?.local?.path ?? "";
  assert.ok(existsSync(path), path);
  mkdirSync(join(path, "deep"));
  writeFileSync(join(path, "deep", "file"), "data");

  // Held as long as it is bound, as in a cluster: nobody loses data by deleting the volume under a claim.
  await server.must("DELETE", `${VOLUMES}/${volume?.metadata?.name}`);
  const [going] = await volumes();
  assert.ok(going?.metadata?.deletionTimestamp);
  assert.equal(going.status?.phase, "Bound");
  assert.ok(existsSync(join(path, "deep", "file")));

  await server.must("DELETE", `${CLAIMS}/data`);
  await until("the volume stays", async () => ((await volumes()).length === 0 ? true : undefined));
  const folder = join(server.folder, "volumes");
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual(
    touched.filter((each) => each.startsWith(folder)),
    [],
  );
});
