import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import { DEFAULT_CONFIG } from "../../config/fields/defaults.ts";
import { previewRecorded, readSummary } from "./recorded.ts";
import { evictionSettings } from "./settings.ts";

const MI = 2 ** 20;
const GI = 2 ** 30;
const HARD = { "memory.available": "100Mi", "nodefs.available": "10%", "pid.available": "5%" };
const settings = evictionSettings({ ...DEFAULT_CONFIG, evictionHard: HARD });

const memory = (availableMi: number, workingSetMi: number) => ({
  memory: { availableBytes: availableMi * MI, workingSetBytes: workingSetMi * MI },
});
const disk = (availableGi: number, capacityGi = 60) => ({
  availableBytes: availableGi * GI,
  capacityBytes: capacityGi * GI,
  inodes: capacityGi * 1000,
  inodesFree: capacityGi * 500,
});

interface Used {
  readonly memoryMi?: number;
  readonly rootfsMi?: number;
  readonly logsMi?: number;
  readonly volumeMi?: number;
  readonly tasks?: number;
}

/** One container `c` and one volume `v`. */
const used = (name: string, { memoryMi = 0, rootfsMi = 0, logsMi = 0, ...more }: Used) => ({
  podRef: { name, namespace: "default", uid: `uid-${name}` },
  memory: { workingSetBytes: memoryMi * MI },
  containers: [
    {
      name: "c",
      memory: { workingSetBytes: memoryMi * MI },
      rootfs: { usedBytes: rootfsMi * MI },
      logs: { usedBytes: logsMi * MI },
    },
  ],
  volume: [{ name: "v", usedBytes: (more.volumeMi ?? 0) * MI }],
  process_stats: { process_count: more.tasks ?? 1 },
});

const NODE = {
  nodeName: "n",
  ...memory(50, 950),
  systemContainers: [{ name: "pods", ...memory(400, 600) }],
  fs: disk(30),
  runtime: { imageFs: disk(30), containerFs: disk(30) },
  rlimit: { maxpid: 32_768, curproc: 300 },
};
const summary = (node: object, ...pods: readonly object[]) => ({
  node: { ...NODE, ...node },
  pods,
});

const pod = (name: string, more: Partial<Pod["spec"]> = {}, status: Pod["status"] = {}) =>
  identifyPod({
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { containers: [{ name: "c" }], nodeName: "n", ...more },
    status,
  });

const preview = (recorded: object, pods: readonly IdentifiedPod[]) =>
  previewRecorded({ settings, hard: new Map(), node: readSummary(recorded), pods });

const order = (recorded: object, pods: readonly IdentifiedPod[]) =>
  preview(recorded, pods).pressure?.pods.map(({ name, used: amount, fate }) =>
    [name.replace("default/", ""), amount, fate].join(" "),
  );

test("previewRecorded: signals, order and message are those of the recorded node", () => {
  const recorded = summary({}, used("web", { memoryMi: 60 }), used("hog", { memoryMi: 400 }));
  const requests = { memory: "64Mi" };
  const web = pod("web", { containers: [{ name: "c", resources: { requests } }] });
  const { signals, pressure, conditions } = preview(recorded, [web, pod("hog")]);
  assert.deepEqual(
    signals
      .slice(0, 2)
      .map(({ signal, available, capacity, state }) => [...[signal, available, capacity, state]]),
    [
      ["memory.available", "50Mi", "1000Mi", "met"],
      ["nodefs.available", "30Gi", "60Gi", "unmet"],
    ],
  );
  assert.deepEqual(conditions, ["MemoryPressure"]);
  assert.equal(
    pressure?.message,
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
      "Container c was using 400Mi, request is 0, has larger consumption of memory. ",
  );
  assert.deepEqual(order(recorded, [web, pod("hog")]), ["hog 400Mi goes", "web 60Mi next"]);
});

test("previewRecorded: the group of all pods has the threshold of memory, too", () => {
  const recorded = summary({
    ...memory(500, 500),
    systemContainers: [{ name: "pods", ...memory(90, 600) }],
  });
  assert.equal(preview(recorded, []).pressure?.signal, "allocatableMemory.available");
});

for (const [what, runtime, layout, hog] of [
  ["one disk", { imageFs: disk(3), containerFs: disk(3) }, "single", "hog 70Mi goes"],
  [
    "images apart",
    { imageFs: disk(30, 90), containerFs: disk(30, 90) },
    "dedicated",
    "hog 30Mi goes",
  ],
  ["split", { imageFs: disk(30, 90), containerFs: disk(3) }, "split", "hog 70Mi goes"],
  ["older kubelet", { imageFs: disk(30, 90) }, "dedicated", "hog 30Mi goes"],
] as const)
  test(`previewRecorded: disk usage, ${what}: logs, layer and ephemeral volumes as far as they count`, () => {
    const hogUses = used("hog", { rootfsMi: 40, logsMi: 10, volumeMi: 20 });
    const recorded = summary({ ...memory(500, 500), fs: disk(3), runtime }, hogUses);
    const pods = [pod("hog", { volumes: [{ name: "v", emptyDir: {} }] })];
    assert.equal(preview(recorded, pods).layout, layout);
    assert.deepEqual(order(recorded, pods), [hog]);
    const inMemory = [pod("hog", { volumes: [{ name: "v", emptyDir: { medium: "Memory" } }] })];
    const without = hog.replace("70Mi", "50Mi").replace("30Mi", "10Mi");
    assert.deepEqual(order(recorded, inMemory), [without]);
  });

test("previewRecorded: processes", () => {
  const low = { ...memory(500, 500), rlimit: { maxpid: 1_000, curproc: 990 } };
  const recorded = summary(low, used("bomb", { tasks: 900 }), used("web", { tasks: 10 }));
  assert.deepEqual(order(recorded, [pod("web"), pod("bomb")]), ["bomb 900 goes", "web 10 next"]);
});

test("previewRecorded: only pods of this node that have not ended; one without figures was not measured", () => {
  const recorded = summary({}, used("here", { memoryMi: 1 }), used("unbound", { memoryMi: 2 }));
  const pods = [
    pod("here"),
    pod("unbound", { nodeName: "" }),
    pod("pending", { nodeName: "" }),
    pod("elsewhere", { nodeName: "other" }),
    pod("done", {}, { phase: "Succeeded" }),
    pod("new"),
  ];
  assert.deepEqual(order(recorded, pods), ["new  goes", "unbound 2Mi next", "here 1Mi next"]);
});

test("readSummary: what is missing counts as not measured", () => {
  const { measures, layout, usages } = readSummary({ node: {}, pods: [{}] });
  assert.deepEqual([Object.keys(measures), layout, usages.size], [["atMs"], "single", 1]);
});

for (const [value, message] of [
  [null, "the document: must be an object"],
  [{ kind: "PodList", items: [] }, /^is not a summary; give the answer of kubectl get --raw/],
  [summary({ memory: 5 }), "node.memory: must be an object"],
  [
    summary({ fs: { capacityBytes: "5Gi" } }),
    "node.fs.capacityBytes: must be a whole number, 0 or more",
  ],
  [summary({}, { podRef: { name: 5 } }), "pods[0].podRef.name: must be a string"],
  [summary({}, { containers: {} }), "pods[0].containers: must be a list"],
  [
    summary({}, { containers: [{ rootfs: { usedBytes: -1 } }] }),
    "pods[0].containers[0].rootfs.usedBytes: must be a whole number, 0 or more",
  ],
] as const)
  test(`readSummary refuses: ${String(message)}`, () => {
    assert.throws(() => readSummary(value), { name: "UsageError", message });
  });
