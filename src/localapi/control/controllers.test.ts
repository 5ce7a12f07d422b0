import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createSystemClock } from "../../kit/clock.ts";
import { type Log, silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { TaskScope } from "../../kit/scope.ts";
import { openDatabase } from "../../outside/database/database.ts";
import type { ApiObject, StoredObject } from "../api-object.ts";
import { NODE_KIND, POD_KIND } from "../kinds/catalog.ts";
import { ObjectStore, STORE_OPTIONS } from "../store/store.ts";
import { type Controller, startController } from "./controllers.ts";
import { schedulingController } from "./scheduler.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-controllers-"));
after(() => rmSync(folder, { recursive: true }));
let databases = 0;

/** Objects in a database of their own, and what was warned of. */
function aCore() {
  const warned: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (message, fields = {}) => {
      warned.push(`${message}: ${fields["name"] ?? fields["error"]}`);
    },
  };
  const clock = createSystemClock();
  databases += 1;
  const database = openDatabase(join(folder, `${databases}.db`));
  const store = new ObjectStore(STORE_OPTIONS, { database, clock, log });
  const core = {
    store,
    clock,
    random: createSeededRandom(1),
    log,
    unplannable: new WeakSet<StoredObject>(),
  };
  const scope = new TaskScope("controllers", { clock, log });
  return { core, scope, warned };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const aPod = (name: string, cpu: string, nodeName?: string): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", uid: `uid-${name}` },
  spec: {
    schedulerName: "default-scheduler",
    ...(nodeName === undefined ? {} : { nodeName }),
    containers: [{ name: "a", image: "b", resources: { requests: { cpu } } }],
  },
  status: { phase: "Pending" },
});

test("one invalid pod does not prevent scheduling of others, and is logged once", async () => {
  const { core, scope, warned } = aCore();
  const { store } = core;
  store.put(NODE_KIND.collection, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", uid: "uid-n1" },
    status: { allocatable: { cpu: "4", memory: "4Gi", pods: "110" } },
  });
  store.put(POD_KIND.collection, aPod("a-broken", "many"));
  store.put(POD_KIND.collection, aPod("on-the-node", "few", "n1"));
  store.put(POD_KIND.collection, aPod("z-good", "1"));
  await store.settled();
  startController(schedulingController(core), core, scope);
  const placeOf = (name: string) => {
    const spec = store.get(POD_KIND.collection, `default/${name}`)?.["spec"] ?? {};
    return (spec as { readonly nodeName?: string }).nodeName;
  };
  await until("the good pod has a node", () => placeOf("z-good") === "n1");
  store.put(POD_KIND.collection, aPod("zz-next", "1"));
  await store.settled();
  await until("so has the next", () => placeOf("zz-next") === "n1");
  assert.equal(placeOf("a-broken"), undefined);
  assert.deepEqual(warned, ["controller skips an invalid object: default/a-broken"]);
  await scope[Symbol.asyncDispose]();
});

test("a failed step does not prevent later ones, and is logged once", async () => {
  const { core, scope, warned } = aCore();
  let taken = 0;
  let planned = 0;
  const controller: Controller = {
    name: "test",
    everyMs: 5,
    plan: () => {
      planned += 1;
      const broken = () => {
        throw new Error("disk full");
      };
      return [
        broken,
        () => {
          taken += 1;
        },
      ];
    },
  };
  startController(controller, core, scope);
  await until("it was planned several times", () => planned > 3);
  await scope[Symbol.asyncDispose]();
  assert.ok(taken >= 3);
  assert.deepEqual(warned, ["controller failed to apply a step: disk full"]);
});
