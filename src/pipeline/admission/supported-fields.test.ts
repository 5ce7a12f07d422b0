import assert from "node:assert/strict";
import { test } from "node:test";
import { API_SCHEMA } from "../../api/generated/schema.ts";
import type { Pod } from "../../api/generated/types.ts";
import { CONFIG_SOURCE_ANNOTATION } from "../../api/pod/pod.ts";
import { judge, type NodeRoom } from "./rules.ts";
import { unsupportedFields } from "./supported-fields.ts";

test("every field of a pod's spec in the API is classified", () => {
  for (const field of Object.keys(API_SCHEMA["PodSpec"] ?? {})) {
    const spec = { [field]: [{}] };
    const found = unsupportedFields({ spec } as unknown as Pod);
    assert.deepEqual(
      found.filter(({ why }) => why === "this field is not known"),
      [],
    );
  }
});

const ROOM: NodeRoom = {
  allocatable: {
    cpuMilli: 1000,
    memoryBytes: 1e9,
    ephemeralStorageBytes: 0,
    hugepagesBytes: new Map(),
    extended: new Map(),
  },
  pods: 10,
  runtimeClasses: true,
  allowedUnsafeSysctls: [],
};

const podFrom = (source: string): Pod => ({
  metadata: { name: "p", uid: "u", annotations: { [CONFIG_SOURCE_ANNOTATION]: source } },
  spec: {
    containers: [{ name: "a", image: "b" }],
    volumes: [{ name: "share", nfs: { server: "192.0.2.1", path: "/" } }],
  },
});

const ruleOf = (source: string, room: NodeRoom) =>
  judge({ candidate: podFrom(source), others: [], room })?.rule;

test("what cannot be served is refused, but for pods of a cluster's API, which wait", () => {
  assert.equal(ruleOf("api", ROOM), "supported fields");
  assert.equal(ruleOf("file", ROOM), "supported fields");
  const room = { ...ROOM, waitsForUnserved: true };
  assert.equal(ruleOf("file", room), "supported fields");
  assert.equal(ruleOf("http", room), "supported fields");
  assert.equal(ruleOf("api", room), undefined);
});
