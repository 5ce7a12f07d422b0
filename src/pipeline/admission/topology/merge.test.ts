import assert from "node:assert/strict";
import { test } from "node:test";
import { countNodes } from "../../../api/node/numa.ts";
import type { Hint, Hints } from "../../../api/ports/hint-provider.ts";
import type { TopologyPolicy, TopologySettings } from "../../../config/topology.ts";
import { align } from "./align.ts";

/** `0+ 01-`: hints by the numbers of their nodes, preferred or not; `any`, `none`. */
function readHints(text: string): Hints {
  if (text === "any") return "any";
  if (text === "none") return [];
  return text.split(" ").map((each) => ({
    mask: [...each.slice(0, -1)].reduce((mask, digit) => mask | (1 << Number(digit)), 0),
    preferred: each.endsWith("+"),
  }));
}

function showMask(mask: number | undefined, preferred: boolean): string {
  const nodes = [...Array(16).keys()].filter((i) => ((mask ?? 0) >> i) & 1).join("");
  return `${mask === undefined ? "*" : nodes}${preferred ? "+" : "-"}`;
}

/** Distances in which nodes 0 and 1, 2 and 3 are pairs. */
const PAIRED = [
  [10, 11, 12, 12],
  [11, 10, 12, 12],
  [12, 12, 10, 11],
  [12, 12, 11, 10],
];

interface MergeRow {
  readonly name: string;
  readonly lists: readonly string[];
  readonly nodes?: number;
  /** Best set of the lists; `single` where single-numa-node has another result (`refused`), `closest` with that option. */
  readonly best: string;
  readonly single: string;
  readonly closest?: string;
}

/** Published vectors of the topology manager (KEP-693, KEP-3545) and of its unit tests. */
const MERGE_ROWS: readonly MergeRow[] = [
  { name: "M1 no lists", lists: [], best: "0123+", single: "*+" },
  { name: "M1 no preference", lists: ["any"], best: "0123+", single: "*+" },
  { name: "M2 nowhere", lists: ["none"], best: "0123-", single: "refused" },
  { name: "M3", lists: ["0+", "0+ 1+ 01-"], best: "0+", single: "0+" },
  { name: "M4", lists: ["0+", "1+"], nodes: 2, best: "01-", single: "refused" },
  { name: "M5", lists: ["0+", "01+"], best: "0-", single: "refused" },
  { name: "M6", lists: ["0+ 1+", "01-"], best: "0-", single: "refused" },
  { name: "M7", lists: ["01+", "0+ 1+ 01-"], nodes: 2, best: "01-", single: "refused" },
  { name: "M8", lists: ["01+", "01+"], nodes: 2, best: "01+", single: "refused" },
  {
    name: "M9",
    lists: ["0123- 01-", "12- 23-"],
    best: "12-",
    single: "refused",
    closest: "23-",
  },
  { name: "M10", lists: ["0123- 01-", "23-"], best: "23-", single: "refused" },
  {
    name: "M11",
    lists: ["0+", "1+ 01-", "0+ 1+ 01-"],
    best: "0-",
    single: "refused",
  },
  { name: "M12", lists: ["0+"], nodes: 1, best: "0+", single: "*+" },
  { name: "M13", lists: ["12+ 23+"], best: "12+", single: "refused", closest: "23+" },
  { name: "M14", lists: ["12+ 03+"], best: "12+", single: "refused", closest: "12+" },
  { name: "nobody cares but one", lists: ["any", "0+ 1+ 01-"], best: "0+", single: "0+" },
  { name: "one can nowhere", lists: ["none", "0+ 1+"], best: "0-", single: "refused" },
  { name: "three agree on node 1", lists: ["0+ 1+", "1+ 2+", "1+ 3+"], best: "1+", single: "1+" },
  {
    name: "a set of two all prefer",
    lists: ["01+ 23+ 012-", "23+ 0123-"],
    best: "23+",
    single: "refused",
  },
];

for (const { name, lists, nodes = 4, best, single, closest = best } of MERGE_ROWS) {
  const settings = (policy: TopologyPolicy): TopologySettings => ({
    policy,
    scope: "container",
    nodes: [...Array(nodes).keys()],
  });
  const show = (given: TopologySettings) => {
    const result = align(lists.map(readHints), given);
    return result.kind === "refused" ? "refused" : showMask(result.mask, result.preferred);
  };
  test(`merge ${name}: ${lists.join(" · ")}`, () => {
    assert.equal(show(settings("best-effort")), best);
    assert.equal(show(settings("restricted")), best.endsWith("+") ? best : "refused");
    assert.equal(show(settings("single-numa-node")), single);
    const distances = PAIRED.slice(0, nodes).map((row) => row.slice(0, nodes));
    assert.equal(show({ ...settings("best-effort"), distances }), closest);
  });
}

interface SlowMerged {
  readonly mask: number;
  readonly preferred: boolean;
}

/** The Go kubelet's way: every combination, compared with the best so far. */
function mergeSlowly(lists: readonly (readonly Hint[])[], settings: TopologySettings): SlowMerged {
  const everywhere = 2 ** settings.nodes.length - 1;
  const least = (list: readonly Hint[]) =>
    Math.min(...list.flatMap(({ mask }) => (mask === undefined ? [] : [countNodes(mask)])));
  const wanted = Math.max(0, ...lists.map(least).filter(Number.isFinite));
  const average = (mask: number) => {
    const members = settings.nodes.keys().filter((i) => (mask >> i) & 1);
    const each = [...members];
    const pairs = each.flatMap((a) => each.map((b) => settings.distances?.[a]?.[b] ?? 0));
    return pairs.reduce((sum, way) => sum + way, 0) / pairs.length;
  };
  const fitter = (candidate: number, current: number) => {
    const [a, b] = [countNodes(candidate), countNodes(current)];
    if (a !== b) return a < b ? candidate : current;
    const [wayA, wayB] = [average(candidate), average(current)];
    if (wayA !== wayB) return wayA < wayB ? candidate : current;
    return Math.min(candidate, current);
  };
  let best: SlowMerged | undefined;
  const visit = (chosen: readonly Hint[]) => {
    const list = lists[chosen.length];
    if (list) {
      for (const hint of list) visit([...chosen, hint]);
      return;
    }
    const masks = chosen.flatMap(({ mask }) => (mask === undefined ? [] : [mask]));
    const mask = masks.reduce((all, each) => all & each, everywhere);
    const preferred = chosen.every((hint) => hint.preferred) && new Set(masks).size <= 1;
    if (mask === 0) return;
    const candidate = { mask, preferred };
    if (!best) best = candidate;
    else if (best.preferred !== preferred) best = preferred ? candidate : best;
    else if (preferred) best = { mask: fitter(mask, best.mask), preferred };
    else {
      const [now, then] = [countNodes(mask), countNodes(best.mask)];
      const take =
        then > wanted || then === wanted
          ? then > wanted || now === wanted
            ? fitter(mask, best.mask)
            : best.mask
          : now > wanted
            ? best.mask
            : now === wanted || now > then
              ? mask
              : now < then
                ? best.mask
                : fitter(mask, best.mask);
      best = { mask: take, preferred };
    }
  };
  visit([]);
  return best ?? { mask: everywhere, preferred: false };
}

/** Numbers from 0 to 1, the same in each run. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test("merge is what trying every combination gives, in 20,000 random cases", () => {
  const next = numbersFrom(7);
  const below = (limit: number) => Math.floor(next() * limit);
  for (let round = 0; round < 20_000; round += 1) {
    const nodes = [...Array(1 + below(4)).keys()];
    const distances = nodes.map(() => nodes.map(() => 10 + below(4)));
    const settings: TopologySettings = {
      policy: "best-effort",
      scope: "container",
      nodes,
      ...(next() < 0.5 ? { distances } : {}),
    };
    const lists = [...Array(below(4)).keys()].map((): readonly Hint[] =>
      [...Array(1 + below(5)).keys()].map(() => ({
        mask: next() < 0.1 ? undefined : 1 + below(2 ** nodes.length - 1),
        preferred: next() < 0.6,
      })),
    );
    const { mask, preferred } = mergeSlowly(lists, settings);
    assert.deepEqual(
      align(lists, settings),
      { kind: "admitted", mask, preferred },
      JSON.stringify({ round, settings, lists }),
    );
  }
});

test("merge works out three lists of all sets of 16 nodes", () => {
  const nodes = [...Array(16).keys()];
  const settings: TopologySettings = { policy: "best-effort", scope: "container", nodes };
  const sets = [...Array(2 ** 16 - 1).keys()].map((i) => ({ mask: i + 1, preferred: false }));
  const wide = sets.filter(({ mask }) => countNodes(mask) >= 15);
  assert.deepEqual(align([sets, wide, wide], settings), {
    kind: "admitted",
    mask: 0b0111_1111_1111_1111,
    preferred: false,
  });
});
