// The rules of single kinds, and what is refused. Runs against the local API and a real server.
import assert from "node:assert/strict";
import type { AdminRequest } from "../kube/admin.ts";
import {
  APPLY,
  Examination,
  type ExaminationOptions,
  type Json,
  MAPS,
  MERGE_PATCH,
  PODS,
  ROOT,
  STRATEGIC,
} from "./api-examination.ts";

const NAMELESS =
  /^the name of the object \(.+ based on URL\) was undeterminable: name must be provided$/;

/** Registers the suite. */
export function apiRulesContract(options: ExaminationOptions): void {
  const on = new Examination(options);

  on.examine("an invalid pod is refused with a cause for each field", async () => {
    const { status, body } = await on.send({
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

  on.examine("what a running pod is made of is not changed, its image is", async () => {
    const pod = await on.makePod({ nodeName: "n1" });
    const path = `${PODS}/${pod.metadata.name}`;
    const changed = await on.must(
      "PATCH",
      path,
      { spec: { containers: [{ name: "main", image: "b:2" }] } },
      STRATEGIC,
    );
    assert.equal(changed.spec.containers[0].image, "b:2");
    const refused = await on.send({
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
    const added = await on.send({
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

  on.examine("a pod is bound once, and evicted", async () => {
    const pod = await on.makePod();
    const path = `${PODS}/${pod.metadata.name}`;
    const bind = (node: string) =>
      on.send({
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
    const bound = await on.must("GET", path);
    assert.equal(bound.spec.nodeName, "n1");
    assert.ok(
      bound.status.conditions.some(
        (each: Json) => each.type === "PodScheduled" && each.status === "True",
      ),
    );
  });

  on.examine("a runtime class adds its overhead and where its pods may run", async () => {
    const classes = "/apis/node.k8s.io/v1/runtimeclasses";
    const refusedPod = (spec: object) =>
      on.send({
        method: "POST",
        path: PODS,
        body: {
          metadata: { name: on.fresh("pod") },
          spec: { containers: [{ name: "main", image: "example/image:1" }], ...spec },
        },
      });
    const runtimeClassName = on.fresh("vm");
    const missing = await refusedPod({ runtimeClassName });
    assert.equal(missing.status, 403);
    assert.match(missing.body.message, /pod rejected: RuntimeClass "vm-\d+" not found$/);
    const toleration = { key: "vm", operator: "Exists", effect: "NoSchedule" };
    await on.must("POST", classes, {
      metadata: { name: runtimeClassName },
      handler: "kata",
      overhead: { podFixed: { cpu: "250m" } },
      scheduling: { nodeSelector: { vm: "yes" }, tolerations: [toleration] },
    });
    const { spec } = await on.makePod({ runtimeClassName, nodeSelector: { disk: "ssd" } });
    assert.deepEqual(spec.overhead, { cpu: "250m" });
    assert.deepEqual(spec.nodeSelector, { disk: "ssd", vm: "yes" });
    assert.ok(
      spec.tolerations.some((each: Json) => each.key === "vm"),
      JSON.stringify(spec.tolerations),
    );
    const other = await refusedPod({ runtimeClassName, overhead: { cpu: "1" } });
    assert.match(other.body.message, /Pod's Overhead doesn't match RuntimeClass's defined/);
    const none = await refusedPod({ overhead: { cpu: "1" } });
    assert.match(none.body.message, /Pod Overhead set without corresponding RuntimeClass/);
  });

  on.examine("a status is written through its own path only", async () => {
    const pod = await on.makePod({ nodeName: "n1" });
    const path = `${PODS}/${pod.metadata.name}`;
    const through = await on.must("PATCH", path, { status: { phase: "Failed" } }, MERGE_PATCH);
    assert.equal(through.status.phase, "Pending");
    const written = await on.must(
      "PATCH",
      `${path}/status`,
      { status: { phase: "Running" }, spec: { nodeName: "x" } },
      MERGE_PATCH,
    );
    assert.deepEqual([written.status.phase, written.spec.nodeName], ["Running", "n1"]);
  });

  on.examine(
    "a container that has terminated for good does not run again in a status",
    async () => {
      const of = (name: string, state: object) => ({
        name,
        image: "x",
        imageID: "",
        ready: false,
        restartCount: 0,
        state,
      });
      const main = (state: object) => ({ status: { containerStatuses: [of("main", state)] } });
      const ended = (exitCode: number) => main({ terminated: { exitCode } });
      for (const [restartPolicy, exitCode, expected] of [
        ["Always", 0, 200],
        ["OnFailure", 1, 200],
        ["OnFailure", 0, 422],
        ["Never", 1, 422],
      ] as const) {
        const pod = await on.makePod({ nodeName: "n1", restartPolicy });
        const path = `${PODS}/${pod.metadata.name}/status`;
        await on.must("PATCH", path, ended(exitCode), MERGE_PATCH);
        const body = main({ running: { startedAt: "2026-01-01T00:00:00Z" } });
        const reply = await on.send({ method: "PATCH", path, body, contentType: MERGE_PATCH });
        assert.equal(reply.status, expected, `${restartPolicy} ${exitCode}: ${reply.body.message}`);
        if (expected === 200) continue;
        const reported = /Forbidden: may not be transitioned to non-terminated state/;
        assert.match(reply.body.message, reported);
        assert.match(reply.body.details.causes[0].field, /^status\.containerStatuses.*state$/);
      }
    },
  );

  on.examine("tables have kubectl's columns", async () => {
    const pod = await on.makePod();
    const reply = await on.send({
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

  on.examine("events of both groups are the same events", async () => {
    const key = on.fresh("event");
    await on.must("POST", `${ROOT}/events`, {
      metadata: { name: key },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      reason: "Tested",
      message: "it was",
      type: "Normal",
      source: { component: "test" },
    });
    const other = await on.must("GET", `/apis/events.k8s.io/v1/namespaces/default/events/${key}`);
    assert.deepEqual([other.regarding.name, other.note, other.reason], ["p", "it was", "Tested"]);
  });

  on.examine("names, kinds and paths that do not fit are refused", async () => {
    const kept = on.fresh("map");
    await on.must("POST", MAPS, { metadata: { name: kept } });
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
      [{ method: "PUT", path: `${MAPS}/x`, body: { data: {} } }, 400, NAMELESS],
      [{ method: "PUT", path: `${MAPS}/x`, body: { metadata: { name: "" } } }, 400, NAMELESS],
      [
        { method: "PUT", path: `${PODS}/x/status`, body: { metadata: { generateName: "x" } } },
        400,
        NAMELESS,
      ],
      [
        {
          method: "PATCH",
          path: `${MAPS}/${kept}`,
          contentType: MERGE_PATCH,
          body: { metadata: { name: null } },
        },
        400,
        NAMELESS,
      ],
      [
        {
          method: "PATCH",
          path: `${MAPS}/x?fieldManager=test`,
          contentType: APPLY,
          body: { apiVersion: "v1", kind: "ConfigMap", data: {} },
        },
        400,
        NAMELESS,
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
    for (const [request, status, message] of vectors) {
      const reply = await on.send(request);
      const reported = typeof reply.body === "string" ? reply.body : reply.body.message;
      assert.equal(reply.status, status, `${request.method} ${request.path}: ${reported}`);
      assert.match(reported, message);
    }
  });

  on.examine("a namespace that is not empty is emptied before it goes", async () => {
    const key = on.fresh("space");
    await on.must("POST", "/api/v1/namespaces", { metadata: { name: key } });
    const made = await on.must("GET", `/api/v1/namespaces/${key}`);
    assert.equal(made.status.phase, "Active");
    assert.deepEqual(made.spec.finalizers, ["kubernetes"]);
    const going = await on.must("DELETE", `/api/v1/namespaces/${key}`);
    assert.equal(going.status.phase, "Terminating");
    const refused = await on.send({
      method: "POST",
      path: `/api/v1/namespaces/${key}/configmaps`,
      body: { metadata: { name: "x" } },
    });
    assert.ok([403, 404].includes(refused.status), "nothing new in a namespace that goes");
  });

  on.examine("secrets take texts and keep bytes; what is immutable stays", async () => {
    const key = on.fresh("secret");
    const made = await on.must("POST", `${ROOT}/secrets`, {
      metadata: { name: key },
      stringData: { a: "b" },
      immutable: true,
    });
    assert.deepEqual([made.type, made.data, made.stringData], ["Opaque", { a: "Yg==" }, undefined]);
    const changed = await on.send({
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
