import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { podsToEvict, podsWithoutController } from "./drain-node.ts";

const pod = (name: string, more: Partial<Pod> = {}, kind?: string): Pod => ({
  ...more,
  metadata: {
    name,
    ...more.metadata,
    ...(kind === undefined
      ? {}
      : {
          ownerReferences: [{ apiVersion: "apps/v1", kind, name: "x", uid: "u", controller: true }],
        }),
  },
});

const PODS = [
  pod("web", {}, "ReplicaSet"),
  pod("bare"),
  pod("proxy", {}, "DaemonSet"),
  pod("static", { metadata: { annotations: { "kubernetes.io/config.mirror": "abc" } } }, "Node"),
  pod("done", { status: { phase: "Succeeded" } }, "Job"),
  pod("failed", { status: { phase: "Failed" } }),
];

test("podsToEvict: not the node's own pods, nor those of DaemonSets, nor those that have ended", () =>
  assert.deepEqual(
    podsToEvict(PODS).map(({ metadata }) => metadata?.name),
    ["web", "bare"],
  ));

test("podsWithoutController: those that nobody makes again", () =>
  assert.deepEqual(
    podsWithoutController(podsToEvict(PODS)).map(({ metadata }) => metadata?.name),
    ["bare"],
  ));
