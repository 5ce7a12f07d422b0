import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { emptyState, releasePod } from "./memory-state.ts";
import { continueMemory } from "./validate-memory.ts";
import { assignWholeMemory, WholeMemoryDraft, wholeMemoryOf } from "./whole-pod-memory.ts";

const MI = 2 ** 20;
const EMPTY = emptyState(
  [0, 1].map((id) => ({ id, memoryBytes: 1024 * MI, hugePages: [], reserved: new Map() })),
);

/** Kind and Mi of a container; without Mi it has no resources of its own. */
type Row = readonly ["init" | "sidecar" | "regular", number?];

function podWith(mi: number, rows: readonly Row[], uid = "p"): IdentifiedPod {
  const made = rows.map(([kind, own], i) => {
    const amounts = own === undefined ? undefined : { cpu: "100m", memory: `${own}Mi` };
    const resources = amounts && { requests: amounts, limits: amounts };
    const more = kind === "sidecar" ? { restartPolicy: "Always" } : {};
    return { kind, it: aContainer(`c${i}`, { ...(resources && { resources }), ...more }) };
  });
  const all = { cpu: "1", memory: `${mi}Mi` };
  const pod = aPod({
    initContainers: made.filter(({ kind }) => kind !== "regular").map(({ it }) => it),
    containers: made.filter(({ kind }) => kind === "regular").map(({ it }) => it),
    resources: { requests: all, limits: all },
  });
  return { ...pod, metadata: { ...pod.metadata, uid: uid as IdentifiedPod["metadata"]["uid"] } };
}

const ANYWHERE = { mask: undefined, preferred: false };

test("a pod is assigned its memory as a whole, and its containers have parts of that", () => {
  const rows: readonly (readonly [readonly Row[], Readonly<Record<string, number>>])[] = [
    [[["regular"], ["regular"]], { c0: 512, c1: 512 }],
    [[["regular", 100], ["regular"]], { c0: 100, c1: 412 }],
    [
      [["init", 300], ["sidecar", 12], ["regular", 200], ["regular"]],
      { c0: 300, c1: 12, c2: 200, c3: 300 },
    ],
    [[["sidecar", 112], ["init"], ["regular"]], { c0: 112, c1: 400, c2: 400 }],
  ];
  for (const [containers, expected] of rows) {
    const pod = podWith(512, containers);
    const outcome = assignWholeMemory(EMPTY, pod, ANYWHERE);
    assert.ok(outcome.kind === "assigned");
    const { state } = outcome;
    const { uid } = pod.metadata;
    assert.deepEqual(state.wholePods?.get(uid), [{ nodes: [0], type: "memory", size: 512 * MI }]);
    const parts = [...(state.pods.get(uid) ?? [])].map(([name, [block]]) => [
      name,
      (block?.size ?? 0) / MI,
    ]);
    assert.deepEqual(Object.fromEntries(parts), expected, JSON.stringify(containers));
    assert.equal(state.nodes.get(0)?.memory.get("memory")?.free, 512 * MI, "counted once");
    assert.deepEqual(assignWholeMemory(state, pod, ANYWHERE), { kind: "assigned", state });
    assert.deepEqual(continueMemory({ policy: "Static", ...state }, EMPTY), {
      kind: "continued",
      state,
    });
    assert.deepEqual(releasePod(state, uid), EMPTY);
  }
});

test("containers that share need something to share", () => {
  for (const [containers, message] of [
    [
      [["regular", 512], ["regular"]],
      "pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers",
    ],
    [
      [["sidecar", 512], ["init"]],
      "pod rejected, pod has shared init containers but no memory available for them",
    ],
  ] as const) {
    const pod = podWith(512, containers);
    const refused = assignWholeMemory(EMPTY, pod, ANYWHERE);
    assert.deepEqual(refused, { kind: "refused", reason: "EmptyPodSharedPoolError", message });
    const whole = wholeMemoryOf(pod);
    assert.deepEqual(whole && new WholeMemoryDraft(EMPTY, pod, whole).podHints(), [[]]);
  }
});

test("hints are of the pod's memory; those of a pod that has it are where that is", () => {
  const draft = (state: typeof EMPTY, pod: IdentifiedPod) => {
    const whole = wholeMemoryOf(pod);
    assert.ok(whole);
    return new WholeMemoryDraft(state, pod, whole);
  };
  const wide = podWith(1500, [["regular"]]);
  assert.deepEqual(draft(EMPTY, wide).podHints(), [[{ mask: 3, preferred: true }]]);
  const pod = podWith(512, [["regular"]]);
  const fresh = draft(EMPTY, pod);
  assert.equal(fresh.podHints()[0]?.length, 3);
  assert.equal(fresh.place("c0", 2, true), undefined);
  assert.deepEqual(fresh.podHints(), [[{ mask: 2, preferred: true }]]);
  const second = podWith(3000, [["regular"]]);
  assert.equal(draft(EMPTY, second).place("c0", 3, true), "refused");
});

test("a pod without amounts as a whole, or that is not guaranteed, is none", () => {
  const amounts = { cpu: "1", memory: "64Mi" };
  const containers = [aContainer("c0", { resources: { requests: amounts, limits: amounts } })];
  assert.equal(wholeMemoryOf(aPod({ containers }) as IdentifiedPod), undefined);
  const burstable = aPod({ containers, resources: { requests: amounts } });
  assert.equal(wholeMemoryOf(burstable as IdentifiedPod), undefined);
});
