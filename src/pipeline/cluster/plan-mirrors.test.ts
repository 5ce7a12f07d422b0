import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { planMirrors } from "./plan-mirrors.ts";

const NODE = { name: "node-1", uid: "node-uid" };

const fixed = (hash: string): Pod => ({
  metadata: {
    name: "web-node-1",
    namespace: "default",
    uid: hash,
    labels: { app: "web" },
    annotations: {
      "kubernetes.io/config.hash": hash,
      "kubernetes.io/config.source": "file",
      note: "kept",
    },
  },
  spec: { nodeName: "node-1", containers: [{ name: "c", image: "i" }] },
});

const mirror = (hash: string, more: object = {}): Pod => ({
  metadata: {
    name: "web-node-1",
    namespace: "default",
    uid: `mirror-of-${hash}`,
    annotations: { "kubernetes.io/config.mirror": hash },
    ...more,
  },
});

const ended = (phase: "Succeeded" | "Failed"): Pod => ({ ...mirror("a"), status: { phase } });

const VECTORS: readonly {
  readonly name: string;
  readonly statics?: readonly {
    readonly pod: Pod;
    readonly going: boolean;
    readonly runs?: boolean;
  }[];
  readonly mirrors?: readonly Pod[];
  readonly node?: typeof NODE | undefined;
  readonly seen?: boolean;
  readonly wanted: readonly string[];
}[] = [
  {
    name: "makes the one that is missing",
    statics: [{ pod: fixed("a"), going: false }],
    wanted: ["create"],
  },
  {
    name: "makes none before the node is known",
    statics: [{ pod: fixed("a"), going: false }],
    node: undefined,
    wanted: [],
  },
  {
    name: "leaves the right one alone",
    statics: [{ pod: fixed("a"), going: false }],
    mirrors: [mirror("a")],
    wanted: [],
  },
  {
    name: "deletes the one of another definition",
    statics: [{ pod: fixed("b"), going: false }],
    mirrors: [mirror("a")],
    wanted: ["delete"],
  },
  {
    name: "deletes one that somebody deletes, so that it can be made again",
    statics: [{ pod: fixed("a"), going: false }],
    mirrors: [mirror("a", { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    wanted: ["delete"],
  },
  {
    name: "keeps it while the pod is ending",
    statics: [{ pod: fixed("a"), going: true }],
    mirrors: [mirror("a")],
    wanted: [],
  },
  {
    name: "makes none for a pod that is ending",
    statics: [{ pod: fixed("a"), going: true }],
    wanted: [],
  },
  {
    name: "deletes one that says that the pod has succeeded when it runs again",
    statics: [{ pod: fixed("a"), going: false, runs: true }],
    mirrors: [ended("Succeeded")],
    wanted: ["delete"],
  },
  {
    name: "deletes one that says that the pod has failed when it runs again",
    statics: [{ pod: fixed("a"), going: false, runs: true }],
    mirrors: [ended("Failed")],
    wanted: ["delete"],
  },
  {
    name: "keeps one that says that the pod has succeeded when it has",
    statics: [{ pod: fixed("a"), going: false, runs: false }],
    mirrors: [ended("Succeeded")],
    wanted: [],
  },
  { name: "deletes one without a pod", mirrors: [mirror("a")], wanted: ["delete"] },
  {
    name: "deletes nothing before every source was seen",
    mirrors: [mirror("a")],
    seen: false,
    wanted: [],
  },
];

for (const { name, statics = [], mirrors = [], seen = true, wanted, ...given } of VECTORS)
  test(`planMirrors ${name}`, () => {
    const node = "node" in given ? given.node : NODE;
    const actions = planMirrors({ statics, mirrors, node, seen });
    assert.deepEqual(
      actions.map(({ kind }) => kind),
      wanted,
    );
  });

test("planMirrors makes a mirror that says whose it is, with nothing of the node's own bookkeeping", () => {
  const statics = [{ pod: fixed("a"), going: false }];
  const [action] = planMirrors({ statics, mirrors: [], node: NODE, seen: true });
  assert.ok(action?.kind === "create");
  assert.deepEqual(action.pod.metadata, {
    name: "web-node-1",
    namespace: "default",
    labels: { app: "web" },
    annotations: {
      "kubernetes.io/config.hash": "a",
      "kubernetes.io/config.source": "file",
      "kubernetes.io/config.mirror": "a",
      note: "kept",
    },
    ownerReferences: [
      { apiVersion: "v1", kind: "Node", name: "node-1", uid: "node-uid", controller: true },
    ],
  });
  assert.equal(action.pod.status, undefined);
});
