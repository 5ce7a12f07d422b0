import assert from "node:assert/strict";
import { test } from "node:test";
import { isUsers, portable } from "./portable.ts";

test("`portable` leaves out fields of the server, and keeps those of the user", () => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "u",
      resourceVersion: "7",
      generation: 2,
      creationTimestamp: "2026-01-01T00:00:00Z",
      managedFields: [{}],
      labels: { app: "web" },
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
    },
    spec: {
      nodeName: "n1",
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
      serviceAccount: "default",
      serviceAccountName: "default",
      containers: [{ name: "main", image: "x" }],
      tolerations: [
        {
          key: "node.kubernetes.io/not-ready",
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: 300,
        },
        { key: "mine", operator: "Exists" },
      ],
    },
    status: { phase: "Running" },
  };
  assert.deepEqual(portable(pod), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default", labels: { app: "web" } },
    spec: {
      containers: [{ name: "main", image: "x" }],
      tolerations: [{ key: "mine", operator: "Exists" }],
    },
  });
  const namespace = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "a", labels: { "kubernetes.io/metadata.name": "a" } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  };
  assert.deepEqual(portable(namespace), {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "a" },
  });
});

test("`isUsers` distinguishes the user's objects from those of every API", () => {
  const vectors: readonly (readonly [string, string, boolean])[] = [
    ["Namespace", "default", false],
    ["Namespace", "mine", true],
    ["ConfigMap", "kube-root-ca.crt", false],
    ["ConfigMap", "mine", true],
    ["ServiceAccount", "default", false],
    ["PriorityClass", "system-node-critical", false],
    ["PriorityClass", "mine", true],
    ["Secret", "mine", true],
  ];
  for (const [kind, name, expected] of vectors)
    assert.equal(isUsers({ kind, metadata: { name } }), expected, `${kind} ${name}`);
  const labels = { "app.kubernetes.io/managed-by": "nodelet" };
  assert.equal(isUsers({ kind: "RuntimeClass", metadata: { name: "runc", labels } }), false);
  assert.equal(isUsers({ kind: "RuntimeClass", metadata: { name: "mine" } }), true);
  const mirror = { "kubernetes.io/config.mirror": "x" };
  assert.equal(isUsers({ kind: "Pod", metadata: { name: "a", annotations: mirror } }), false);
});
