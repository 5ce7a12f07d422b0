import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ApiObject } from "../api-object.ts";
import { structShape } from "../schema/shapes.ts";
import { fieldSet, fromFieldsV1, toFieldsV1 } from "./field-paths.ts";
import { afterUpdate, applyConfiguration, shownPath, type Writer } from "./managed-fields.ts";

const SHAPE = structShape("Pod");
const writer = (manager: string): Writer => ({
  manager,
  apiVersion: "v1",
  subresource: "",
  time: "2026-01-01T00:00:00Z",
});

function podWith(labels: Record<string, string>, containers: readonly object[] = []): ApiObject {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels }, spec: { containers } };
}

function fieldsOf(object: ApiObject): Record<string, unknown> {
  const entries = object.metadata.managedFields ?? [];
  return Object.fromEntries(
    entries.map((each) => [`${each.manager}/${each.operation}`, each.fieldsV1]),
  );
}

function apply(live: ApiObject, wanted: ApiObject, manager: string, force = false): ApiObject {
  const applied = applyConfiguration(live, wanted, { writer: writer(manager), force }, SHAPE);
  assert.equal(applied.kind, "applied");
  return applied.kind === "applied" ? applied.object : live;
}

test("`afterUpdate` makes the writer the owner of changed fields", () => {
  const made = afterUpdate(undefined, podWith({ a: "1", b: "1" }), writer("x"), SHAPE);
  assert.deepEqual(fieldsOf(made)["x/Update"], {
    "f:metadata": { "f:labels": { "f:a": {}, "f:b": {} } },
    "f:spec": { "f:containers": {} },
  });
  const { managedFields } = made.metadata;
  const changed = podWith({ a: "2", c: "1" });
  const now = afterUpdate(
    made,
    { ...changed, metadata: { ...changed.metadata, ...(managedFields ? { managedFields } : {}) } },
    writer("y"),
    SHAPE,
  );
  assert.deepEqual(fieldsOf(now), {
    "x/Update": { "f:spec": { "f:containers": {} } },
    "y/Update": { "f:metadata": { "f:labels": { "f:a": {}, "f:c": {} } } },
  });
});

test("`applyConfiguration` removes what a manager no longer applies, and keeps fields of others", () => {
  const container = (name: string, image: string) => ({ name, image });
  const first = apply(
    podWith({ other: "1" }),
    podWith({ a: "1", b: "1" }, [container("m", "1")]),
    "x",
  );
  assert.deepEqual(first.metadata.labels, { other: "1", a: "1", b: "1" });
  const second = apply(first, podWith({ a: "2" }, [container("m", "2"), container("n", "1")]), "x");
  assert.deepEqual(second.metadata.labels, { other: "1", a: "2" });
  assert.deepEqual(second["spec"], { containers: [container("m", "2"), container("n", "1")] });
  const third = apply(second, podWith({ a: "2" }, [container("n", "1")]), "x");
  assert.deepEqual(third["spec"], { containers: [container("n", "1")] });
  const shared = apply(third, podWith({ a: "2" }), "y");
  const left = apply(shared, podWith({}, [container("n", "1")]), "x");
  assert.deepEqual(left.metadata.labels, { other: "1", a: "2" }, "y still says it");
});

test("`applyConfiguration` does not change fields of other owners, unless forced", () => {
  const live = apply(podWith({}), podWith({ a: "1" }), "x");
  const wanted = podWith({ a: "2" });
  const refused = applyConfiguration(live, wanted, { writer: writer("y"), force: false }, SHAPE);
  assert.ok(refused.kind === "conflicts");
  assert.deepEqual(
    refused.conflicts.map(({ path, owner }) => [shownPath(path), owner.manager]),
    [[".metadata.labels.a", "x"]],
  );
  const taken = apply(live, wanted, "y", true);
  assert.deepEqual(taken.metadata.labels, { a: "2" });
  assert.equal(
    (fieldsOf(taken)["x/Apply"] as { "f:metadata"?: unknown } | undefined)?.["f:metadata"],
    undefined,
  );
  apply(taken, podWith({ a: "2" }), "z");
});

test("FieldsV1 is read as it was written", () => {
  const step = fc.oneof(fc.constantFrom("f:a", "f:b", "f:c", 'k:{"name":"x"}', 'v:"y"'));
  fc.assert(
    fc.property(
      fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
      (paths) => {
        const set = fieldSet(paths);
        assert.deepEqual(new Set(fromFieldsV1(toFieldsV1(set)).keys()), new Set(set.keys()));
      },
    ),
  );
});
