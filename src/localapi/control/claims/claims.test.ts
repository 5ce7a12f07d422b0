import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { createSystemClock } from "../../../kit/clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import { openDatabase } from "../../../outside/database/database.ts";
import { CLAIMS, POD_KIND, STORAGE_CLASSES, VOLUMES } from "../../kinds/catalog.ts";
import { ObjectStore, STORE_OPTIONS } from "../../store/store.ts";
import { claimController } from "./claims.ts";

test("nothing is listed while there are neither claims nor volumes", () =>
  withTemporaryFolder(listsNothing));

async function listsNothing(folder: string): Promise<void> {
  const clock = createSystemClock();
  const database = openDatabase(join(folder, "objects.db"));
  const store = new ObjectStore(STORE_OPTIONS, { database, clock, log: silentLog });
  const listed: string[] = [];
  const { list } = ObjectStore.prototype;
  store.list = (collection) => {
    listed.push(collection);
    return list.call(store, collection);
  };
  const unused = () => Promise.reject(new Error("no files are touched"));
  const { plan } = claimController({
    core: {
      store,
      clock,
      random: createSeededRandom(1),
      log: silentLog,
      unplannable: new WeakSet(),
    },
    podFiles: { makeDirectory: unused, removeTree: unused },
    folder: "/nowhere",
    nodeName: "n1",
  });
  assert.deepEqual([plan(), listed], [[], []]);
  store.put(VOLUMES.collection, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "v", uid: "v1" },
  });
  plan();
  const all = [CLAIMS, VOLUMES, STORAGE_CLASSES, POD_KIND].map(({ collection }) => collection);
  assert.deepEqual(new Set(listed), new Set(all));
  await store.settled();
  database.close();
}
