// What people and kubectl rely on in the Kubernetes API. Runs against the local API and a real server.
import assert from "node:assert/strict";
import {
  APPLY,
  Examination,
  type ExaminationOptions,
  JSON_PATCH,
  type Json,
  MAPS,
  MERGE_PATCH,
  PODS,
  STRATEGIC,
} from "./api-examination.ts";

/** Registers the suite. */
export function apiContract(options: ExaminationOptions): void {
  const on = new Examination(options);

  on.examine("a pod is completed as the API completes pods", async () => {
    const { spec, status } = await on.makePod();
    assert.equal(spec.restartPolicy, "Always");
    assert.equal(spec.dnsPolicy, "ClusterFirst");
    assert.equal(spec.terminationGracePeriodSeconds, 30);
    assert.equal(spec.schedulerName, "default-scheduler");
    assert.equal(spec.priority, 0);
    assert.deepEqual(spec.securityContext, {});
    const [main] = spec.containers;
    assert.equal(main.imagePullPolicy, "IfNotPresent");
    assert.equal(main.terminationMessagePath, "/dev/termination-log");
    assert.equal(main.terminationMessagePolicy, "File");
    assert.deepEqual(
      spec.tolerations.map((each: Json) => [each.key, each.effect, each.tolerationSeconds]),
      [
        ["node.kubernetes.io/not-ready", "NoExecute", 300],
        ["node.kubernetes.io/unreachable", "NoExecute", 300],
      ],
    );
    assert.equal(status.phase, "Pending");
    assert.equal(status.qosClass, "BestEffort");
  });

  on.examine("objects are patched in three ways, and a dry run keeps nothing", async () => {
    const map = await on.makeMap({ a: "1", b: "1" });
    const path = `${MAPS}/${map.metadata.name}`;
    const merged = await on.must("PATCH", path, { data: { a: null, c: "1" } }, MERGE_PATCH);
    assert.deepEqual(merged.data, { b: "1", c: "1" });
    const operations = [
      { op: "test", path: "/data/b", value: "1" },
      { op: "replace", path: "/data/b", value: "2" },
      { op: "remove", path: "/data/c" },
    ];
    const patched = await on.must("PATCH", path, operations, JSON_PATCH);
    assert.deepEqual(patched.data, { b: "2" });
    const failed = await on.send({
      method: "PATCH",
      path,
      body: operations,
      contentType: JSON_PATCH,
    });
    assert.equal(failed.status, 422);
    const dry = await on.must("PATCH", `${path}?dryRun=All`, { data: { b: "3" } }, STRATEGIC);
    assert.deepEqual(dry.data, { b: "3" });
    assert.deepEqual((await on.must("GET", path)).data, { b: "2" });
    const same = await on.must("PATCH", path, { data: { b: "2" } }, MERGE_PATCH);
    assert.equal(
      same.metadata.resourceVersion,
      patched.metadata.resourceVersion,
      "nothing changed",
    );
    const unknown = await on.send({ method: "PATCH", path, body: {}, contentType: "text/plain" });
    assert.equal(unknown.status, 415);
    const stale = await on.send({
      method: "PATCH",
      path,
      body: { metadata: { resourceVersion: map.metadata.resourceVersion }, data: { b: "4" } },
      contentType: MERGE_PATCH,
    });
    assert.deepEqual([stale.status, stale.body.reason], [409, "Conflict"]);
  });

  on.examine("server-side apply makes, shares, refuses, takes and gives back fields", async () => {
    const key = on.fresh("map");
    const apply = (manager: string, data: object, more = "") =>
      on.send({
        method: "PATCH",
        path: `${MAPS}/${key}?fieldManager=${manager}${more}`,
        contentType: APPLY,
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: key }, data },
      });
    assert.equal((await apply("one", { a: "1", b: "1" })).status, 201);
    assert.equal((await apply("two", { b: "1", c: "1" })).status, 200);
    const refused = await apply("two", { b: "2", c: "1" });
    assert.equal(refused.status, 409);
    assert.equal(refused.body.reason, "Conflict");
    assert.match(
      refused.body.message,
      /^Apply failed with 1 conflict: conflict with "one".*: \.data\.b$/,
    );
    assert.deepEqual(
      refused.body.details.causes.map((each: Json) => [each.reason, each.field]),
      [["FieldManagerConflict", ".data.b"]],
    );
    assert.equal((await apply("two", { b: "2", c: "1" }, "&force=true")).status, 200);
    const left = await apply("one", { a: "2" });
    assert.deepEqual(left.body.data, { a: "2", b: "2", c: "1" });
    const gone = await apply("two", {});
    assert.deepEqual(gone.body.data, { a: "2" });
    const owners = gone.body.metadata.managedFields.map((each: Json) => [
      each.manager,
      each.operation,
    ]);
    assert.ok(
      owners.some((each: Json) => each.join() === "one,Apply"),
      String(owners),
    );
    const nameless = await on.send({
      method: "PATCH",
      path: `${MAPS}/${key}`,
      contentType: APPLY,
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: key } },
    });
    assert.ok([400, 422].includes(nameless.status), "a manager must have a name");
  });

  on.examine("lists are selected from by labels and fields", async () => {
    const label = on.fresh("set");
    const a = await on.makePod({ nodeName: "n-a" }, { labels: { of: label, tier: "x" } });
    await on.makePod({ nodeName: "n-b" }, { labels: { of: label } });
    const names = async (query: string) => {
      const { items } = await on.must("GET", `${PODS}?${query}`);
      return items.map((each: Json) => each.metadata.name);
    };
    const of = encodeURIComponent(`of=${label}`);
    assert.equal((await names(`labelSelector=${of}`)).length, 2);
    assert.deepEqual(await names(`labelSelector=${of},tier%20in%20(x,y)`), [a.metadata.name]);
    assert.deepEqual(
      await names(`labelSelector=${of},!tier&fieldSelector=spec.nodeName%3Dn-a`),
      [],
    );
    assert.deepEqual(await names(`labelSelector=${of}&fieldSelector=spec.nodeName%3Dn-a`), [
      a.metadata.name,
    ]);
    const wrong = await on.send({ method: "GET", path: `${PODS}?fieldSelector=spec.foo%3Dbar` });
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.message, /field label not supported: spec\.foo/);
    const broken = await on.send({ method: "GET", path: `${PODS}?labelSelector=((` });
    assert.equal(broken.status, 400);
  });

  on.examine("what has a finalizer goes in two steps", async () => {
    const map = await on.makeMap({}, { finalizers: ["example.test/keep"] });
    const path = `${MAPS}/${map.metadata.name}`;
    await on.must("DELETE", path);
    const held = await on.must("GET", path);
    assert.ok(held.metadata.deletionTimestamp);
    await on.must("PATCH", path, { metadata: { finalizers: null } }, MERGE_PATCH);
    assert.equal((await on.send({ method: "GET", path })).status, 404);
  });
}
