import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesOf } from "../../api/node/numa.ts";
import type { Hint } from "../../api/ports/hint-provider.ts";
import { type AssignedPod, assignContainer, type NodePreference } from "./assign-memory.ts";
import { memoryHints } from "./memory-hints.ts";
import type { MemoryAmounts, MemoryRequest } from "./memory-requests.ts";
import { emptyState, type MemoryState, releasePod } from "./memory-state.ts";

const HUGE = "hugepages-2Mi";
const ANYWHERE: NodePreference = { mask: undefined, preferred: false };

/** Nodes with so much memory, and so much in huge pages. */
function machine(...sizes: readonly (number | readonly [number, number])[]): MemoryState {
  return emptyState(
    sizes.map((size, id) => {
      const [memory, huge] = typeof size === "number" ? [size, 0] : size;
      const hugePages = huge === 0 ? [] : [{ type: HUGE, bytes: huge }];
      return { id, memoryBytes: memory + huge, hugePages, reserved: new Map() };
    }),
  );
}

const amounts = (memory: number, huge = 0): MemoryAmounts =>
  new Map(
    huge === 0
      ? [["memory", memory]]
      : [
          ["memory", memory],
          [HUGE, huge],
        ],
  );

/** `init 4, side 3, 2`: containers in order with their memory. */
function requestsOf(text: string): readonly MemoryRequest[] {
  return text.split(", ").map((part, i) => {
    const [kind, size] = part.includes(" ") ? part.split(" ") : ["regular", part];
    const kinds = { init: "init", side: "sidecar", regular: "regular" } as const;
    return {
      container: `c${i}`,
      kind: kinds[kind as keyof typeof kinds],
      amounts: amounts(Number(size)),
    };
  });
}

/** Assigns all containers; the message of the first that is short of memory. */
function assignAll(
  state: MemoryState,
  requests: readonly MemoryRequest[],
  {
    uid = "pod",
    wanted = ANYWHERE,
  }: { readonly uid?: string; readonly wanted?: NodePreference } = {},
): MemoryState | string {
  let pod: AssignedPod = { state, uid, reusable: new Map() };
  for (const request of requests) {
    const outcome = assignContainer(pod, requests, request, wanted);
    if (outcome.kind === "short") return outcome.message;
    pod = outcome.pod;
  }
  return pod.state;
}

function showHints(hints: readonly Hint[]): string {
  return hints
    .map(({ mask = 0, preferred }) => {
      const nodes = nodesOf(mask, [...Array(8).keys()]);
      return `${nodes.join("")}${preferred ? "+" : "-"}`;
    })
    .join(" ");
}

const freeOf = ({ nodes }: MemoryState, type = "memory") =>
  [...nodes.values()].map(({ memory }) => memory.get(type)?.free);

const NO_NODES =
  "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available";

interface Step {
  readonly need: MemoryAmounts;
  readonly wanted?: NodePreference;
  readonly hints?: string;
  /** What is free afterwards, or the message. */
  readonly after: readonly number[] | string;
}

const STORIES: readonly {
  readonly name: string;
  readonly on: MemoryState;
  readonly steps: readonly Step[];
}[] = [
  {
    name: "R1 to R4: nodes fill one by one",
    on: machine(7, 8),
    steps: [
      { need: amounts(5), hints: "0+ 1+ 01-", after: [2, 8] },
      { need: amounts(8), hints: "1+", after: [2, 0] },
      { need: amounts(3), hints: "", after: NO_NODES },
      { need: amounts(2), hints: "0+", after: [0, 0] },
    ],
  },
  {
    name: "R5: a group serves only that group",
    on: machine(7, 8),
    steps: [
      { need: amounts(10), hints: "01+", after: [0, 5] },
      {
        need: amounts(4),
        hints: "01-",
        wanted: { mask: undefined, preferred: true },
        after: "[memorymanager] failed to find the default preferred hint",
      },
      { need: amounts(4), after: [0, 1] },
    ],
  },
  {
    name: "R6: a group strands what is free on its nodes",
    on: machine(8, 8, 8, 8),
    steps: [
      {
        need: amounts(12),
        hints: "01+ 02+ 12+ 03+ 13+ 23+ 012- 013- 023- 123- 0123-",
        after: [0, 4, 8, 8],
      },
      { need: amounts(4), hints: "2+ 3+ 01- 23-", after: [0, 4, 4, 8] },
      { need: amounts(12), hints: "", after: NO_NODES },
    ],
  },
  {
    name: "R7: a hint that is too small is extended",
    on: machine(7, 8),
    steps: [{ need: amounts(10), wanted: { mask: 1, preferred: true }, after: [0, 5] }],
  },
  {
    name: "R8: a hint that cannot be extended",
    on: machine(7, 8),
    steps: [
      { need: amounts(6), wanted: { mask: 1, preferred: true }, after: [1, 8] },
      {
        need: amounts(5),
        wanted: { mask: 1, preferred: true },
        after: "[memorymanager] failed to find NUMA nodes to extend the current topology hint",
      },
    ],
  },
  {
    name: "a hint that only a wider set meets, where only the best will do",
    on: machine(8, 8, 16),
    steps: [
      {
        need: amounts(12),
        hints: "2+ 01- 02- 12- 012-",
        wanted: { mask: 1, preferred: true },
        after: "[memorymanager] failed to find the extended preferred hint",
      },
      { need: amounts(12), wanted: { mask: 1, preferred: false }, after: [0, 4, 16] },
      {
        need: amounts(4),
        wanted: { mask: 0b110, preferred: false },
        after: "[memorymanager] preferred hint violates NUMA node allocation",
      },
      {
        need: amounts(4),
        hints: "2+ 01-",
        wanted: { mask: 0b010, preferred: false },
        after: [0, 0, 16],
      },
    ],
  },
  {
    name: "R9: huge pages and memory together",
    on: machine([7, 1], [8, 2]),
    steps: [
      { need: amounts(2, 1), hints: "0+ 1+ 01-", after: [5, 8] },
      { need: amounts(2, 2), hints: "1+", after: [5, 6] },
      { need: amounts(2, 1), hints: "", after: NO_NODES },
    ],
  },
  {
    name: "a size of huge pages that no node has",
    on: machine(7, 8),
    steps: [{ need: amounts(1, 1), hints: "", after: NO_NODES }],
  },
];

for (const { name, on, steps } of STORIES)
  test(`memory ${name}`, () => {
    let state = on;
    for (const [i, { need, wanted = ANYWHERE, hints, after: expected }] of steps.entries()) {
      if (hints !== undefined)
        assert.equal(showHints(memoryHints(state, need, new Map())), hints, `step ${i}`);
      const request: MemoryRequest = { container: "c", kind: "regular", amounts: need };
      const after = assignAll(state, [request], { uid: `pod${i}`, wanted });
      assert.deepEqual(typeof after === "string" ? after : freeOf(after), expected, `step ${i}`);
      if (typeof after !== "string") state = after;
    }
    for (const i of steps.keys()) state = releasePod(state, `pod${i}`);
    assert.deepEqual(state, on, "what is released is as before");
  });

test("a node counts each block that is on it, and names its group", () => {
  const after = assignAll(machine([7, 1], [8, 2]), [
    { container: "c", kind: "regular", amounts: amounts(9, 1) },
  ]);
  assert.ok(typeof after !== "string");
  assert.deepEqual(
    [...after.nodes.values()].map(({ assignments, cells }) => [assignments, cells]),
    [
      [2, [0, 1]],
      [2, [0, 1]],
    ],
  );
});

for (const [text, reserved, blocks] of [
  ["init 1, init 2, 3, 4", 7, [0, 0, 3, 4]],
  ["init 4, init 3, 2, 1", 4, [0, 1, 2, 1]],
  ["init 7, init 4, 4, 3", 7, [0, 0, 4, 3]],
  ["init 3, side 2, init 4, 1", 6, [0, 2, 3, 1]],
] as const)
  test(`memory of init containers is used again: ${text}`, () => {
    const requests = requestsOf(text);
    const empty = machine(20);
    const after = assignAll(empty, requests);
    assert.ok(typeof after !== "string");
    assert.deepEqual(freeOf(after), [20 - reserved]);
    const held = [...(after.pods.get("pod")?.values() ?? [])].map(([block]) => block?.size);
    assert.deepEqual(held, blocks);
    assert.equal(
      held.reduce<number>((sum, size) => sum + (size ?? 0), 0),
      reserved,
    );
    assert.deepEqual(assignAll(after, requests), after, "what is there is kept");
    assert.deepEqual(releasePod(after, "pod"), empty);
  });

/** A pod of one container and the set of nodes it was assigned from. */
interface Placed {
  readonly uid: string;
  readonly nodes: readonly number[];
  readonly need: MemoryAmounts;
}

const TYPES = ["memory", HUGE];

/**
 * Whether the pod fits on exactly these nodes: counted from the pods that are there, without tables. One node serves pods of
 * its own; several serve only pods that all have the same ones.
 */
function fits(
  on: MemoryState,
  placed: readonly Placed[],
  nodes: readonly number[],
  need: MemoryAmounts,
): boolean {
  const touching = placed.filter((each) => each.nodes.some((id) => nodes.includes(id)));
  if (touching.some((each) => each.nodes.join() !== nodes.join())) return false;
  return TYPES.every((type) => {
    const total = nodes.reduce(
      (sum, id) => sum + (on.nodes.get(id)?.memory.get(type)?.total ?? 0),
      0,
    );
    const huge =
      type === "memory"
        ? nodes.reduce((sum, id) => sum + (on.nodes.get(id)?.memory.get(HUGE)?.total ?? 0), 0)
        : 0;
    const used = touching.reduce((sum, each) => sum + (each.need.get(type) ?? 0), 0);
    return total - huge - used >= (need.get(type) ?? 0);
  });
}

/** The smallest set on which the pod fits, of these the one with the lowest nodes; every set is tried. */
function findSlowly(
  on: MemoryState,
  placed: readonly Placed[],
  need: MemoryAmounts,
): readonly number[] | undefined {
  const all = [...on.nodes.keys()];
  let best: number | undefined;
  for (let mask = 2 ** all.length - 1; mask > 0; mask -= 1) {
    if (!fits(on, placed, nodesOf(mask, all), need)) continue;
    const isSmaller = best === undefined || nodesOf(mask, all).length <= nodesOf(best, all).length;
    if (isSmaller) best = mask;
  }
  return best === undefined ? undefined : nodesOf(best, all);
}

test("memory is assigned from the smallest set of nodes that has it, in 20,000 random steps", () => {
  let seed = 11;
  const below = (limit: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * limit);
  };
  for (let round = 0; round < 1_000; round += 1) {
    const on = machine(
      ...[...Array(1 + below(4)).keys()].map(() => [1 + below(9), below(4)] as const),
    );
    let state = on;
    let placed: readonly Placed[] = [];
    for (let step = 0; step < 20; step += 1) {
      const uid = `pod${step}`;
      const gone = placed[below(3)];
      if (gone && below(3) === 0) {
        state = releasePod(state, gone.uid);
        placed = placed.filter((each) => each !== gone);
        continue;
      }
      const need = amounts(1 + below(12), below(3));
      const expected = findSlowly(on, placed, need);
      const request: MemoryRequest = { container: "c", kind: "regular", amounts: need };
      const after = assignAll(state, [request], { uid });
      const context = JSON.stringify({ round, step, placed });
      if (typeof after === "string") {
        assert.equal(expected, undefined, context);
        continue;
      }
      assert.deepEqual(after.pods.get(uid)?.get("c")?.[0]?.nodes, expected, context);
      state = after;
      placed = [...placed, { uid, nodes: expected ?? [], need }];
    }
    for (const { uid } of placed) state = releasePod(state, uid);
    assert.deepEqual(state, on);
  }
});

test("memory of a container that is resized is on the nodes that it has, or not to be had", () => {
  const rows: readonly (readonly [before: string, after: string, resizes: boolean, string])[] = [
    ["5", "6", true, "c0 6 on 0; free 1,8"],
    ["5", "7", true, "c0 7 on 0; free 0,8"],
    [
      "5",
      "8",
      true,
      "[memorymanager] the NUMA nodes of container c0, 0, have not enough free memory",
    ],
    ["5", "2", true, "c0 2 on 0; free 5,8"],
    ["10", "12", true, "c0 12 on 0,1; free 0,3"],
    ["10", "4", true, "c0 4 on 0,1; free 3,8"],
    [
      "3, 4",
      "5, 2",
      true,
      "[memorymanager] the NUMA nodes of container c0, 0, have not enough free memory",
    ],
    ["3, 2", "4, 3", true, "c0 4 on 0, c1 3 on 0; free 0,8"],
    ["5", "6", false, "c0 5 on 0; free 2,8"],
  ];
  for (const [before, after, resizes, expected] of rows) {
    const first = assignAll(machine(7, 8), requestsOf(before));
    assert.ok(typeof first === "object");
    const requests = requestsOf(after);
    let pod: AssignedPod = { state: first, uid: "pod", reusable: new Map(), resizes };
    let short: string | undefined;
    for (const request of requests) {
      const outcome = assignContainer(pod, requests, request, ANYWHERE);
      if (outcome.kind === "short") short ??= outcome.message;
      else pod = outcome.pod;
    }
    const { pods, nodes } = pod.state;
    const held = [...(pods.get("pod") ?? [])].flatMap(([name, blocks]) =>
      blocks.map((block) => `${name} ${block.size} on ${block.nodes}`),
    );
    const free = [...nodes.values()].map(({ memory }) => memory.get("memory")?.free);
    assert.equal(short ?? `${held.join(", ")}; free ${free}`, expected, `${before} to ${after}`);
  }
});
