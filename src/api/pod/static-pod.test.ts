import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../generated/types.ts";
import { isStaticPod, CONFIG_SOURCE_ANNOTATION as SOURCE } from "./pod.ts";
import { stableJson, staticPodUid } from "./pod-keys.ts";
import { bindStaticPod, seenFromApi, staticPriorityWarning } from "./static-pod.ts";

const manifest: Pod = {
  metadata: { name: "etcd", labels: { a: "1", b: "2" } },
  spec: { containers: [{ name: "c", image: "i" }] },
};
const file = { kind: "file", path: "/etc/kubernetes/manifests/etcd.yaml" } as const;
const context = { nodeName: "Node-1", origin: file, seen: "2026-01-02T03:04:05.000000006Z" };

test("bindStaticPod: a manifest becomes a pod of the node", () => {
  const pod = bindStaticPod(manifest, context);
  const uid = pod.metadata?.uid ?? "";
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.deepEqual(pod, {
    metadata: {
      name: "etcd-node-1",
      namespace: "default",
      uid,
      labels: { a: "1", b: "2" },
      annotations: {
        "kubernetes.io/config.hash": uid,
        "kubernetes.io/config.source": "file",
        "kubernetes.io/config.seen": "2026-01-02T03:04:05.000000006Z",
      },
    },
    spec: {
      containers: [{ name: "c", image: "i" }],
      nodeName: "Node-1",
      tolerations: [{ operator: "Exists", effect: "NoExecute" }],
    },
    status: { phase: "Pending" },
  });
  assert.equal(isStaticPod(pod), true);
});

test("bindStaticPod: own UID, namespace and tolerations are kept, URLs get no toleration", () => {
  const own: Pod = {
    metadata: { ...manifest.metadata, uid: "u", namespace: "kube-system", annotations: { x: "y" } },
    spec: {
      containers: [],
      tolerations: [
        { key: "k", operator: "Exists" },
        { operator: "Exists", effect: "NoExecute", tolerationSeconds: 3 },
      ],
    },
  };
  const fromUrl = bindStaticPod(own, { ...context, origin: { kind: "url", url: "http://h/p" } });
  assert.deepEqual(fromUrl.spec?.tolerations, own.spec?.tolerations);
  assert.equal(fromUrl.metadata?.annotations?.["kubernetes.io/config.source"], "http");
  assert.equal(fromUrl.metadata?.annotations?.["kubernetes.io/config.hash"], "u");
  assert.equal(fromUrl.metadata?.annotations?.["x"], "y");
  assert.equal(fromUrl.metadata?.namespace, "kube-system");
  assert.deepEqual(bindStaticPod(own, context).spec?.tolerations, [
    { key: "k", operator: "Exists" },
    { operator: "Exists", effect: "NoExecute" },
  ]);
});

test("staticPodUid: stable across key order, different for content, file and node", () => {
  const uid = staticPodUid(manifest, "n", file);
  const reordered: Pod = {
    spec: { containers: [{ image: "i", name: "c" }] },
    metadata: { labels: { b: "2", a: "1" }, name: "etcd" },
  };
  assert.equal(staticPodUid(reordered, "n", file), uid);
  assert.equal(staticPodUid({ ...reordered, status: { phase: "Running" } }, "n", file), uid);
  const others = [
    staticPodUid({ ...manifest, metadata: { name: "other" } }, "n", file),
    staticPodUid(manifest, "m", file),
    staticPodUid(manifest, "n", { kind: "file", path: "/b" }),
    staticPodUid(manifest, "n", { kind: "url", url: file.path }),
  ];
  assert.equal(new Set([uid, ...others]).size, 5);
  // The digits themselves are part of the promise: a changed rule would restart every static pod.
  const plain = { metadata: { name: "a" }, spec: { containers: [] } };
  assert.equal(staticPodUid(plain, "n", file), "9f031185a04ff2be5259e37bfdfafd40");
});

test("stableJson: sorted keys, harmless with odd ones", () => {
  assert.equal(stableJson({ b: [{ d: 1, c: 2 }], a: undefined }), '{"b":[{"c":2,"d":1}]}');
  const odd: unknown = JSON.parse('{"z": 1, "__proto__": {"b": 1, "a": 2}}');
  assert.equal(stableJson(odd), '{"__proto__":{"a":2,"b":1},"z":1}');
});

test("seenFromApi: source and time are the node's own words, all else stays", () => {
  const annotations = { [SOURCE]: "file", "kubernetes.io/config.seen": "then", note: "kept" };
  const pod = seenFromApi({ metadata: { name: "a", uid: "u", annotations } }, "now");
  assert.deepEqual(pod.metadata, {
    name: "a",
    uid: "u",
    annotations: { [SOURCE]: "api", "kubernetes.io/config.seen": "now", note: "kept" },
  });
  assert.equal(isStaticPod(pod), false);
});

const PRIORITIES: readonly (readonly [
  priority: number | undefined,
  className: string | undefined,
  warning: RegExp | undefined,
])[] = [
  [undefined, undefined, undefined],
  [2_000_001_000, "system-node-critical", undefined],
  [
    undefined,
    "system-node-critical",
    /^Static pod has priorityClassName and nil priority\. Kubelet will not use/,
  ],
  [
    2_000_001_000,
    undefined,
    /^Static pod has priority without priorityClassName\. Mirror pod creation may fail/,
  ],
  [0, undefined, /^Static pod has priority without priorityClassName\./],
  [
    2_000_000_000,
    "system-cluster-critical",
    /^Static pod has a priority other than 2000001000 or a priorityClassName other than system-node-critical\./,
  ],
  [1, "system-node-critical", /^Static pod has a priority other than 2000001000/],
];

for (const [priority, priorityClassName, warning] of PRIORITIES)
  test(`staticPriorityWarning: priority ${priority} of class ${priorityClassName}`, () => {
    const found = staticPriorityWarning({
      spec: {
        containers: [],
        ...(priority === undefined ? {} : { priority }),
        ...(priorityClassName === undefined ? {} : { priorityClassName }),
      },
    });
    if (warning) assert.match(found ?? "", warning);
    else assert.equal(found, undefined);
  });
