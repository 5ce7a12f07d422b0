import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { knownFields, unknownFieldsMessage } from "./unknown-fields.ts";

const podOf = (spec: object): Pod => ({ metadata: { name: "p" }, spec }) as Pod;

test("knownFields: a pod of our API is given back as it is", () => {
  const pod = podOf({ containers: [{ name: "a", resources: { limits: { cpu: "1000m" } } }] });
  assert.equal(knownFields(pod).pod, pod);
  assert.deepEqual(knownFields(pod).unknown, []);
});

test("knownFields: what a later API has is left out wherever it is, the rest stays", () => {
  const later = {
    containers: [{ name: "a", livenessProbe: { smoke: {}, periodSeconds: 3 } }],
    volumes: [{ name: "v", hologram: {} }],
    flavor: "sweet",
  };
  const { pod, unknown } = knownFields({ ...podOf(later), status: { phase: "Pending" } });
  assert.deepEqual(pod, {
    metadata: { name: "p" },
    spec: {
      containers: [{ name: "a", livenessProbe: { periodSeconds: 3 } }],
      volumes: [{ name: "v" }],
    },
    status: { phase: "Pending" },
  });
  assert.deepEqual(unknown.toSorted(), [
    "spec.containers[0].livenessProbe.smoke",
    "spec.flavor",
    "spec.volumes[0].hologram",
  ]);
});

test("unknownFieldsMessage names a few", () => {
  const known = "this agent knows Kubernetes 1.37";
  assert.equal(unknownFieldsMessage(["spec.a"]), `unknown field "spec.a" is ignored: ${known}`);
  const many = Array.from({ length: 11 }, (_, i) => `f${i}`);
  assert.match(unknownFieldsMessage(many), /"f7" and 3 more are ignored/);
});
