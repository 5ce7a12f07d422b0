import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CONFIG } from "../../config/fields/defaults.ts";
import type { WallMs } from "../../kit/clock.ts";
import { candidateOf } from "./pods.vectors.ts";
import { pressureTexts, reclaimingText } from "./texts.ts";
import { evictionThresholds } from "./thresholds.ts";

const MI = 2 ** 20;
const GI = 2 ** 30;
const thresholds = evictionThresholds(DEFAULT_CONFIG);
const atMs = 0 as WallMs;
const observations = new Map([
  ["memory.available", { available: 52 * MI, capacity: GI, atMs }],
  ["nodefs.available", { available: 1234, capacity: 102_400, atMs }],
] as const);
const memory = { resource: "memory", thresholds, observations } as const;
const storage = { resource: "ephemeral-storage", thresholds, observations } as const;
const LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. ";

test("a pod evicted for memory names the container that used more than it requests", () => {
  const { message, annotations } = pressureTexts(
    candidateOf({ name: "web", requestMi: 64, memoryMi: 300 }),
    memory,
  );
  assert.equal(
    message,
    `${LOW}Container c was using 300Mi, request is 64Mi, has larger consumption of memory. `,
  );
  assert.deepEqual(annotations, {
    offending_containers: "c",
    offending_containers_usage: "300Mi",
    starved_resource: "memory",
  });
});

test("containers within their requests are not blamed, those without any have requested 0", () => {
  const within = pressureTexts(candidateOf({ name: "a", requestMi: 64, memoryMi: 64 }), memory);
  assert.equal(within.message, LOW);
  assert.equal(within.annotations["offending_containers"], "");
  assert.match(
    pressureTexts(candidateOf({ name: "a", memoryMi: 1 }), memory).message,
    /Container c was using 1Mi, request is 0, has larger/,
  );
});

test("a pod of which nothing was measured gets the text of the node only", () => {
  const texts = pressureTexts(candidateOf({ name: "a", unmeasured: true }), memory);
  assert.deepEqual(texts, { message: LOW, annotations: {} });
});

test("a pod with resources of its own names them first", () => {
  const { message, annotations } = pressureTexts(
    candidateOf({
      name: "web",
      memoryMi: 300,
      spec: { resources: { requests: { memory: "1Gi" } } },
    }),
    memory,
  );
  assert.equal(
    message,
    `${LOW}Pod web was using 300Mi, request is 1Gi, has larger consumption of memory. ` +
      "Container c was using 300Mi, request is 0, has larger consumption of memory. ",
  );
  assert.equal(annotations["offending_pod"], "web");
  assert.equal(annotations["offending_pod_usage"], "300Mi");
});

test("ephemeral containers are not blamed: they can request nothing", () => {
  const { pod, usage, ...rest } = candidateOf({ name: "web", requestMi: 64, memoryMi: 10 });
  assert.ok(usage);
  const containers = [
    ...usage.containers,
    { name: "debug", group: { memory: { workingSetBytes: GI } } },
  ];
  const texts = pressureTexts({ ...rest, pod, usage: { ...usage, containers } }, memory);
  assert.equal(texts.message, LOW);
});

test("disk: layer and logs of a container count together; a share is written in bytes", () => {
  const opening =
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Ki, available: 1234. ";
  const web = candidateOf({ name: "web", storageRequestMi: 4, rootfsMi: 3, logsMi: 2 });
  assert.equal(
    pressureTexts(web, storage).message,
    `${opening}Container c was using 5Mi, request is 4Mi, has larger consumption of ephemeral-storage. `,
  );
  const inVolumes = candidateOf({ name: "web", storageRequestMi: 4, volumeMi: 90 });
  assert.equal(pressureTexts(inVolumes, storage).message, opening);
});

test("texts of inodes and processes name no containers, as no container can request them", () => {
  const texts = pressureTexts(candidateOf({ name: "web", inodes: 9, tasks: 9 }), {
    resource: "pids",
    thresholds,
    observations,
  });
  assert.equal(texts.message, "The node was low on resource: pids. ");
});

test("texts of the node", () => {
  assert.equal(reclaimingText("ephemeral-storage"), "Attempting to reclaim ephemeral-storage");
});
