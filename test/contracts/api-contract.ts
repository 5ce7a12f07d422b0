// What people and kubectl rely on in the Kubernetes API. Runs against the local API and a real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { AdminReply, AdminRequest } from "../kube/admin.ts";

/** A server to be examined; requests come from an administrator. */
export interface ApiUnderTest {
  request(order: AdminRequest): Promise<AdminReply>;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely, each test says what it expects.
type Json = any;

const ROOT = "/api/v1/namespaces/default";
const MAPS = `${ROOT}/configmaps`;
const PODS = `${ROOT}/pods`;
const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";

/** Registers the suite; `start` makes one server for all of it. */
export function apiContract(
  name: string,
  start: () => Promise<ApiUnderTest>,
  options: { readonly skip?: string | false } = {},
): void {
  const skip = options.skip ?? false;
  let server: ApiUnderTest;
  let count = 0;
  const fresh = (prefix: string) => {
    count += 1;
    return `${prefix}-${count}`;
  };
  before(async () => {
    if (skip === false) server = await start();
  });
  after(async () => {
    if (skip === false) await server.close();
  });
  const examine = (what: string, body: () => Promise<void>) =>
    test(`${name}: ${what}`, { skip }, body);

  const send = async (order: AdminRequest): Promise<{ status: number; body: Json }> =>
    await server.request(order);
  const must = async (
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<Json> => {
    const reply = await send({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    assert.ok(
      reply.status < 300,
      `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`,
    );
    return reply.body;
  };
  const makeMap = (data: object = {}, more: object = {}) => {
    const key = fresh("map");
    return must("POST", MAPS, { metadata: { name: key, ...more }, data });
  };
  const makePod = (spec: object = {}, metadata: object = {}) =>
    must("POST", PODS, {
      metadata: { name: fresh("pod"), ...metadata },
      spec: { containers: [{ name: "main", image: "example/image:1" }], ...spec },
    });

  examine("a pod is completed as the API completes pods", async () => {
    const { spec, status } = await makePod();
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

  examine("an invalid pod is refused with a cause for each field", async () => {
    const { status, body } = await send({
      method: "POST",
      path: PODS,
      body: {
        metadata: { name: "Bad_Name" },
        spec: { containers: [{ name: "a" }], restartPolicy: "Sometimes" },
      },
    });
    assert.equal(status, 422);
    assert.equal(body.reason, "Invalid");
    assert.match(
      body.message,
      /^Pod "Bad_Name" is invalid: \[metadata\.name: Invalid value: "Bad_Name": /,
    );
    const fields = body.details.causes.map((each: Json) => [each.reason, each.field]);
    for (const expected of [
      ["FieldValueInvalid", "metadata.name"],
      ["FieldValueRequired", "spec.containers[0].image"],
      ["FieldValueNotSupported", "spec.restartPolicy"],
    ])
      assert.ok(
        fields.some((each: Json) => each.join() === expected.join()),
        `${expected}: ${fields}`,
      );
    assert.equal(body.details.kind, "Pod");
  });

  examine("what a running pod is made of is not changed, its image is", async () => {
    const pod = await makePod({ nodeName: "n1" });
    const path = `${PODS}/${pod.metadata.name}`;
    const changed = await must(
      "PATCH",
      path,
      { spec: { containers: [{ name: "main", image: "b:2" }] } },
      STRATEGIC,
    );
    assert.equal(changed.spec.containers[0].image, "b:2");
    const refused = await send({
      method: "PATCH",
      path,
      contentType: STRATEGIC,
      body: { spec: { containers: [{ name: "main", command: ["x"] }] } },
    });
    assert.equal(refused.status, 422);
    assert.match(
      refused.body.message,
      /spec: Forbidden: pod updates may not change fields other than/,
    );
    const added = await send({
      method: "PATCH",
      path,
      contentType: STRATEGIC,
      body: { spec: { containers: [{ name: "other", image: "x" }] } },
    });
    assert.match(
      added.body.message,
      /spec\.containers: Forbidden: pod updates may not add or remove containers/,
    );
  });

  examine("objects are patched in three ways, and a dry run keeps nothing", async () => {
    const map = await makeMap({ a: "1", b: "1" });
    const path = `${MAPS}/${map.metadata.name}`;
    const merged = await must("PATCH", path, { data: { a: null, c: "1" } }, MERGE_PATCH);
    assert.deepEqual(merged.data, { b: "1", c: "1" });
    const operations = [
      { op: "test", path: "/data/b", value: "1" },
      { op: "replace", path: "/data/b", value: "2" },
      { op: "remove", path: "/data/c" },
    ];
    const patched = await must("PATCH", path, operations, JSON_PATCH);
    assert.deepEqual(patched.data, { b: "2" });
    const failed = await send({ method: "PATCH", path, body: operations, contentType: JSON_PATCH });
    assert.equal(failed.status, 422);
    const dry = await must("PATCH", `${path}?dryRun=All`, { data: { b: "3" } }, STRATEGIC);
    assert.deepEqual(dry.data, { b: "3" });
    assert.deepEqual((await must("GET", path)).data, { b: "2" });
    const same = await must("PATCH", path, { data: { b: "2" } }, MERGE_PATCH);
    assert.equal(
      same.metadata.resourceVersion,
      patched.metadata.resourceVersion,
      "nothing changed",
    );
    const unknown = await send({ method: "PATCH", path, body: {}, contentType: "text/plain" });
    assert.equal(unknown.status, 415);
    const stale = await send({
      method: "PATCH",
      path,
      body: { metadata: { resourceVersion: map.metadata.resourceVersion }, data: { b: "4" } },
      contentType: MERGE_PATCH,
    });
    assert.deepEqual([stale.status, stale.body.reason], [409, "Conflict"]);
  });

  examine("server-side apply makes, shares, refuses, takes and gives back fields", async () => {
    const key = fresh("map");
    const apply = (manager: string, data: object, more = "") =>
      send({
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
    const nameless = await send({
      method: "PATCH",
      path: `${MAPS}/${key}`,
      contentType: APPLY,
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: key } },
    });
    assert.ok([400, 422].includes(nameless.status), "a manager must have a name");
  });

  examine("lists are selected from by labels and fields", async () => {
    const label = fresh("set");
    const a = await makePod({ nodeName: "n-a" }, { labels: { of: label, tier: "x" } });
    await makePod({ nodeName: "n-b" }, { labels: { of: label } });
    const names = async (query: string) => {
      const { items } = await must("GET", `${PODS}?${query}`);
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
    const wrong = await send({ method: "GET", path: `${PODS}?fieldSelector=spec.foo%3Dbar` });
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.message, /field label not supported: spec\.foo/);
    const broken = await send({ method: "GET", path: `${PODS}?labelSelector=((` });
    assert.equal(broken.status, 400);
  });

  examine("what has a finalizer goes in two steps", async () => {
    const map = await makeMap({}, { finalizers: ["example.test/keep"] });
    const path = `${MAPS}/${map.metadata.name}`;
    await must("DELETE", path);
    const held = await must("GET", path);
    assert.ok(held.metadata.deletionTimestamp);
    await must("PATCH", path, { metadata: { finalizers: null } }, MERGE_PATCH);
    assert.equal((await send({ method: "GET", path })).status, 404);
  });

  examine("a pod is bound once, and evicted", async () => {
    const pod = await makePod();
    const path = `${PODS}/${pod.metadata.name}`;
    const bind = (node: string) =>
      send({
        method: "POST",
        path: `${path}/binding`,
        body: {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name: pod.metadata.name },
          target: { kind: "Node", name: node },
        },
      });
    assert.equal((await bind("n1")).status, 201);
    const again = await bind("n2");
    assert.equal(again.status, 409);
    assert.match(again.body.message, /pod pod-\d+ is already assigned to node "n1"/);
    const bound = await must("GET", path);
    assert.equal(bound.spec.nodeName, "n1");
    assert.ok(
      bound.status.conditions.some(
        (each: Json) => each.type === "PodScheduled" && each.status === "True",
      ),
    );
  });

  examine("a status is written through its own path only", async () => {
    const pod = await makePod({ nodeName: "n1" });
    const path = `${PODS}/${pod.metadata.name}`;
    const through = await must("PATCH", path, { status: { phase: "Failed" } }, MERGE_PATCH);
    assert.equal(through.status.phase, "Pending");
    const written = await must(
      "PATCH",
      `${path}/status`,
      { status: { phase: "Running" }, spec: { nodeName: "x" } },
      MERGE_PATCH,
    );
    assert.deepEqual([written.status.phase, written.spec.nodeName], ["Running", "n1"]);
  });

  examine("tables have kubectl's columns", async () => {
    const pod = await makePod();
    const reply = await server.request({
      method: "GET",
      path: `${PODS}/${pod.metadata.name}`,
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    });
    const table = reply.body as Json;
    assert.equal(table.kind, "Table");
    const columns = table.columnDefinitions.map((each: Json) => each.name);
    assert.deepEqual(columns, [
      "Name",
      "Ready",
      "Status",
      "Restarts",
      "Age",
      "IP",
      "Node",
      "Nominated Node",
      "Readiness Gates",
    ]);
    assert.deepEqual(table.rows[0].cells.slice(0, 3), [pod.metadata.name, "0/1", "Pending"]);
    assert.equal(table.rows[0].object.kind, "PartialObjectMetadata");
  });

  examine("events of both groups are the same events", async () => {
    const key = fresh("event");
    await must("POST", `${ROOT}/events`, {
      metadata: { name: key },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      reason: "Tested",
      message: "it was",
      type: "Normal",
      source: { component: "test" },
    });
    const other = await must("GET", `/apis/events.k8s.io/v1/namespaces/default/events/${key}`);
    assert.deepEqual([other.regarding.name, other.note, other.reason], ["p", "it was", "Tested"]);
  });

  examine("names, kinds and paths that do not fit are refused", async () => {
    const vectors: readonly (readonly [AdminRequest, number, RegExp])[] = [
      [
        { method: "POST", path: MAPS, body: { metadata: {} } },
        422,
        /name or generateName is required/,
      ],
      [
        { method: "POST", path: MAPS, body: { metadata: { name: "x", namespace: "other" } } },
        400,
        /does not match the namespace/,
      ],
      [
        {
          method: "POST",
          path: "/api/v1/namespaces/nowhere/configmaps",
          body: { metadata: { name: "x" } },
        },
        404,
        /namespaces "nowhere" not found/,
      ],
      [
        { method: "PUT", path: `${MAPS}/x`, body: { metadata: { name: "y" } } },
        400,
        /does not match the name on the URL/,
      ],
      [{ method: "GET", path: `${MAPS}/none` }, 404, /configmaps "none" not found/],
      [{ method: "GET", path: "/api/v1/nonsense" }, 404, /./],
      [{ method: "GET", path: "/apis/example.test/v1/things" }, 404, /./],
      [
        {
          method: "POST",
          path: MAPS,
          body: { kind: "Secret", apiVersion: "v1", metadata: { name: "x" } },
        },
        400,
        /./,
      ],
    ];
    for (const [order, status, message] of vectors) {
      const reply = await send(order);
      const said = typeof reply.body === "string" ? reply.body : reply.body.message;
      assert.equal(reply.status, status, `${order.method} ${order.path}: ${said}`);
      assert.match(said, message);
    }
  });

  examine("a namespace that is not empty is emptied before it goes", async () => {
    const key = fresh("space");
    await must("POST", "/api/v1/namespaces", { metadata: { name: key } });
    const made = await must("GET", `/api/v1/namespaces/${key}`);
    assert.equal(made.status.phase, "Active");
    assert.deepEqual(made.spec.finalizers, ["kubernetes"]);
    const going = await must("DELETE", `/api/v1/namespaces/${key}`);
    assert.equal(going.status.phase, "Terminating");
    const refused = await send({
      method: "POST",
      path: `/api/v1/namespaces/${key}/configmaps`,
      body: { metadata: { name: "x" } },
    });
    assert.ok([403, 404].includes(refused.status), "nothing new in a namespace that goes");
  });

  examine("secrets take texts and keep bytes; what is immutable stays", async () => {
    const key = fresh("secret");
    const made = await must("POST", `${ROOT}/secrets`, {
      metadata: { name: key },
      stringData: { a: "b" },
      immutable: true,
    });
    assert.deepEqual([made.type, made.data, made.stringData], ["Opaque", { a: "Yg==" }, undefined]);
    const changed = await send({
      method: "PATCH",
      path: `${ROOT}/secrets/${key}`,
      contentType: MERGE_PATCH,
      body: { data: { a: "Yw==" } },
    });
    assert.equal(changed.status, 422);
    assert.match(
      changed.body.message,
      /data: Forbidden: field is immutable when `immutable` is set/,
    );
  });
}
