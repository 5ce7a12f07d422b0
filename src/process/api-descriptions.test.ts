// The descriptions for `kubectl explain` are shipped and complete.
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_SCHEMA } from "../api/generated/schema.ts";
import { definitions } from "../localapi/openapi/definitions.ts";
import { openApiV2 } from "../localapi/openapi/v2.ts";
import { v2Protobuf } from "../localapi/openapi/v2-protobuf.ts";
import { readApiDescriptions } from "./api-descriptions.ts";

test("readApiDescriptions: every type, and every field that is no reference, has a text", async () => {
  const texts = await readApiDescriptions();
  const without: string[] = [];
  for (const [type, fields] of Object.entries(API_SCHEMA)) {
    if (!texts[type]?.[""]) without.push(type);
    for (const [field, kind] of Object.entries(fields))
      if (!/^[A-Z]/.test(kind) && !texts[type]?.[field]) without.push(`${type}.${field}`);
  }
  assert.deepEqual(without, []);
});

test("definitions: types and fields have their descriptions, references none", async () => {
  const all = definitions("#/", await readApiDescriptions());
  const spec = all["io.k8s.api.core.v1.PodSpec"];
  assert.equal(spec?.["description"], "PodSpec is a description of a pod.");
  const fields = spec?.["properties"] as Record<string, Record<string, unknown>>;
  assert.match(String(fields["dnsPolicy"]?.["description"]), /^Set DNS policy for the pod\./);
  assert.deepEqual(fields["affinity"], { $ref: "#/io.k8s.api.core.v1.Affinity" });
});

test("v2Protobuf: holds the descriptions, for clients before 1.27", async () => {
  const bytes = v2Protobuf(openApiV2("v1.36.2", await readApiDescriptions()));
  assert.ok(Buffer.from(bytes).includes("Set DNS policy for the pod."));
});
