import assert from "node:assert/strict";
import { test } from "node:test";
import { API_SCHEMA } from "../../api/generated/schema.ts";
import type { Pod } from "../../api/generated/types.ts";
import { CONFIG_SOURCE_ANNOTATION } from "../../api/pod/pod.ts";
import { judge, type NodeInfo } from "./rules.ts";
import { unsupportedFields } from "./supported-fields.ts";

test("every field of a pod's spec in the API is classified", () => {
  for (const field of Object.keys(API_SCHEMA["PodSpec"] ?? {})) {
    const spec = { [field]: [{}] };
    const found = unsupportedFields({ spec } as unknown as Pod, { claims: false });
    assert.deepEqual(
      found.filter(({ why }) => why === "unknown field"),
      [],
    );
  }
});

const NODE_INFO: NodeInfo = {
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
    volumes: [{ name: "share", glusterfs: { endpoints: "e", path: "/" } }],
  },
});

const ruleOf = (source: string, nodeInfo: NodeInfo) =>
  judge({ candidate: podFrom(source), others: [], nodeInfo })?.rule;

test("what cannot be served is refused, but for pods of a cluster's API, which wait", () => {
  assert.equal(ruleOf("api", NODE_INFO), "supported fields");
  assert.equal(ruleOf("file", NODE_INFO), "supported fields");
  const nodeInfo = { ...NODE_INFO, waitsForUnserved: true };
  assert.equal(ruleOf("file", nodeInfo), "supported fields");
  assert.equal(ruleOf("http", nodeInfo), "supported fields");
  assert.equal(ruleOf("api", nodeInfo), undefined);
});

test("resource claims require an API server, also that of one machine, and no static pod", () => {
  const claiming = (source: string): Pod => ({
    ...podFrom(source),
    spec: {
      resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }],
      containers: [{ name: "a", image: "b", resources: { claims: [{ name: "gpu" }] } }],
    },
  });
  const judged = (source: string, runtimeClasses: boolean) =>
    judge({ candidate: claiming(source), others: [], nodeInfo: { ...NODE_INFO, runtimeClasses } });
  assert.equal(judged("api", true), undefined);
  assert.match(
    judged("api", false)?.message ?? "",
    /spec\.resourceClaims: resource claims require/,
  );
  assert.match(judged("file", true)?.message ?? "", /resources\.claims: resource claims require/);
});
