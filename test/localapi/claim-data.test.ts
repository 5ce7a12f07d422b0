// The data of claims is touched by worker processes only: however much there is of it, the agent goes on.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CoreEvent, PersistentVolume } from "../../src/api/generated/types.ts";
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

type Server = Awaited<ReturnType<LocalApiUnderTest["start"]>>;

const listVolumes = async (server: Server): Promise<readonly PersistentVolume[]> =>
  (await server.must<{ items: readonly PersistentVolume[] }>("GET", VOLUMES)).items;

/** Makes the claim `data`; resolves with the folder of its volume when it is bound. */
async function provision(server: Server): Promise<string> {
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
  const bound = await until("no volume is bound", async () =>
    (await listVolumes(server)).find(({ status }) => status?.phase === "Bound"),
  );
  return bound.spec?.local?.path ?? "";
}

test("a volume whose data cannot be removed says so, and is not tried again with every change", async () => {
  await using server = await new LocalApiUnderTest({}).start();
  const path = await provision(server);
  const name = basename(path);
  // What the agent must not cross: somebody mounted a file system there.
  const mounted = join(path, "mounted");
  mkdirSync(mounted);
  execFileSync("mount", ["-t", "tmpfs", "none", mounted]);
  const failed = await (async () => {
    try {
      await server.must("DELETE", `${CLAIMS}/data`);
      return await until("the volume does not fail", async () => {
        const volume = await server.must<PersistentVolume>("GET", `${VOLUMES}/${name}`);
        return volume.status?.phase === "Failed" ? volume : undefined;
      });
    } finally {
      execFileSync("umount", [mounted]);
    }
  })();
  assert.match(failed.status?.message ?? "", /mount/);
  // It would succeed now; it is tried when its pause is over.
  for (const label of ["a", "b", "c"])
    await server.must("POST", "/api/v1/namespaces/default/configmaps", {
      metadata: { name: label },
    });
  await sleep(500);
  assert.ok(existsSync(mounted));
  const events = "/api/v1/namespaces/default/events";
  const { items } = await server.must<{ items: readonly CoreEvent[] }>("GET", events);
  assert.deepEqual(
    items
      .filter(({ reason }) => reason === "VolumeFailedDelete")
      .map(({ involvedObject, message }) => [involvedObject.name, message]),
    [[name, failed.status?.message]],
  );
});

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
  const path = await provision(server);
  assert.ok(existsSync(path), path);
  mkdirSync(join(path, "deep"));
  writeFileSync(join(path, "deep", "file"), "data");

  // Held as long as it is bound, as in a cluster: nobody loses data by deleting the volume under a claim.
  await server.must("DELETE", `${VOLUMES}/${basename(path)}`);
  const [going] = await listVolumes(server);
  assert.ok(going?.metadata?.deletionTimestamp);
  assert.equal(going.status?.phase, "Bound");
  assert.ok(existsSync(join(path, "deep", "file")));

  await server.must("DELETE", `${CLAIMS}/data`);
  await until("the volume stays", async () =>
    (await listVolumes(server)).length === 0 ? true : undefined,
  );
  const folder = join(server.folder, "volumes");
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual(
    touched.filter((each) => each.startsWith(folder)),
    [],
  );
});
