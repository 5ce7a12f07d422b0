// What is written to a state file is read at the next start, whatever odd value a plugin, a registry, a pod or a clock has
// brought into it: one that is read by stricter rules costs all that the file holds.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CoreEvent, PodStatus } from "../../src/api/generated/types.ts";
import type { PodAllocation } from "../../src/api/pod/allocation.ts";
import { silentLog } from "../../src/kit/log.ts";
import { KeyedLog } from "../../src/kit/state/keyed-log.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { lastExitLine, parseLastExit } from "../../src/node/last-exit.ts";
import { ShutdownState } from "../../src/node/shutdown/shutdown-state.ts";
import {
  encodeAllocations,
  parseAllocations,
} from "../../src/pipeline/admission/allocation-checkpoint.ts";
import {
  CheckpointEncoder,
  decodeCheckpoint,
  isNodeNumber,
  type KeptDevices,
} from "../../src/subsystems/devices/ledger/checkpoint.ts";
import { readNote, writeNote } from "../../src/subsystems/devices/ledger/container-parts.ts";
import type { Holding } from "../../src/subsystems/devices/ledger/ledger.ts";
import { History } from "../../src/subsystems/events/history.ts";
import { decodeKept, encodeKept } from "../../src/subsystems/images/checkpoint.ts";
import {
  decodeIntent,
  decodeRecord,
  encodeIntent,
  encodeRecord,
  type ImageAccess,
} from "../../src/subsystems/images/credentials/pulled-record.ts";
import { Journal } from "../../src/subsystems/journal/journal.ts";
import { formatMappings, parseMappings } from "../../src/subsystems/runtime/security/id-ranges.ts";
import { FakeFiles } from "../sim/fake-files.ts";
import { SimClock } from "../sim/sim-clock.ts";

const RUNS = 200;
const NOW_MS = 1_790_000_000_000;

/** Texts as anybody may bring them: names that objects have anyway, halves of characters, line breaks, digits. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "",
    "__proto__",
    "constructor",
    "toString",
    "\ud800",
    "\udc00a",
    "a\nb",
    "\0",
    "null",
  ),
  fc.constantFrom("0", "-1", "007", "9007199254740993", "1e3", "a/b", "ü\u2028"),
);
/** Numbers as JavaScript has them. */
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 1e15, 1e16, 9007199254740991, 2 ** 53, 2 ** 63, 1e21, 5e-324),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);
const pairs = <T>(value: fc.Arbitrary<T>) =>
  fc.uniqueArray(fc.tuple(text, value), { selector: ([name]) => name, maxLength: 4 });
const check = <T>(value: fc.Arbitrary<T>, holds: (value: T) => void) =>
  fc.assert(fc.property(value, holds), { numRuns: RUNS });

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const holdings = fc
  .uniqueArray(
    fc.record({
      podUid: text,
      container: text,
      resource: text,
      devices: fc.uniqueArray(fc.record({ id: text, nodes: fc.array(number, { maxLength: 3 }) }), {
        selector: ({ id }) => id,
        minLength: 1,
        maxLength: 4,
      }),
      answer: fc.option(fc.uint8Array({ maxLength: 5 }), { nil: undefined }),
      since: fc.option(number, { nil: undefined }),
    }),
    {
      selector: ({ podUid, container, resource }) => `${podUid}/${container}/${resource}`,
      maxLength: 4,
    },
  )
  .map((all) => all.map((each): Holding => ({ ...each, state: "granted" }) as unknown as Holding));

/** As it is read: nodes that are numbers of nodes, each once, ascending; ids in order. */
function readBack({ since, devices, ...holding }: Holding): unknown {
  const nodesOf = (nodes: readonly number[]) =>
    [...new Set(nodes.filter(isNodeNumber).map((node) => node + 0))].sort((a, b) => a - b);
  return {
    ...holding,
    since: Number.isFinite(since) ? (since ?? 0) + 0 : undefined,
    devices: devices
      .map(({ id, nodes }) => ({ id, nodes: nodesOf(nodes) }))
      .sort((a, b) => byText(a.id, b.id)),
  };
}

test("kubelet_internal_checkpoint: devices, however a plugin numbers its NUMA nodes", () => {
  const kept = fc.record({
    holdings,
    registered: pairs(fc.array(text, { maxLength: 3 })),
    preStart: pairs(fc.boolean()),
  });
  check(kept, ({ holdings: held, registered, preStart }) => {
    const content: KeptDevices = {
      holdings: held,
      registered: new Map(registered),
      preStart: new Map(preStart),
    };
    const read = decodeCheckpoint(new CheckpointEncoder().encode(content));
    assert.ok(read.kind === "read", read.kind === "broken" ? read.why : "");
    const unique = (nodes: readonly number[]) => [...new Set(nodes)];
    const shown = read.kept.holdings.map((each) => ({
      ...each,
      devices: each.devices.map(({ id, nodes }) => ({ id, nodes: unique(nodes) })),
    }));
    assert.deepEqual(shown, held.map(readBack));
    assert.deepEqual(
      read.kept.registered,
      new Map(registered.toSorted(([a], [b]) => byText(a, b))),
    );
    assert.deepEqual(new Map([...read.kept.preStart]), new Map(preStart));
  });
});

test("kubelet_internal_checkpoint: the number of a node that another agent has written is no reason to lose the rest", () => {
  for (const node of ["9007199254740993", "1234567890123456", "-9223372036854775808"]) {
    const text = JSON.stringify({
      Data: {
        PodDeviceEntries: [
          {
            PodUID: "u",
            ContainerName: "c",
            ResourceName: "r",
            DeviceIDs: { [node]: ["d"] },
            AllocResp: null,
          },
        ],
        RegisteredDevices: {},
      },
      Checksum: 0,
    });
    const first = decodeCheckpoint(text);
    const [, sum] = (first.kind === "broken" && /should be (\d+)$/.exec(first.why)) || [];
    const read = decodeCheckpoint(text.replace('"Checksum":0', `"Checksum":${sum}`));
    assert.ok(read.kind === "read", node);
    assert.equal(read.kept.holdings[0]?.devices[0]?.id, "d");
  }
});

test("notes of devices on containers", () => {
  check(holdings, (held) => {
    const one = held.filter(
      ({ resource }, at) => held.findIndex((each) => each.resource === resource) === at,
    );
    const read = readNote(writeNote(one));
    assert.deepEqual(
      read?.map(({ resource, devices }) => [resource, devices.map(({ id }) => id)]).toSorted(),
      one
        .map(({ resource, devices }) => [resource, devices.map(({ id }) => id).toSorted(byText)])
        .toSorted(),
    );
  });
});

const amounts = pairs(text).map((list) => Object.fromEntries(list));
const requirements = fc.record({ limits: amounts, requests: amounts });
const allocations = pairs(
  fc.record({ containers: pairs(requirements), pod: fc.option(requirements, { nil: undefined }) }),
);

test("allocated_pods_state, actuated_pods_state: resources of pods", () => {
  type Amounts = Readonly<Record<string, string>>;
  const filled = ({ limits, requests }: { limits: Amounts; requests: Amounts }) => ({
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  });
  check(allocations, (list) => {
    const all = new Map(
      list.map(([uid, { containers, pod }]): readonly [string, PodAllocation] => {
        const own = Object.fromEntries(containers.map(([name, each]) => [name, filled(each)]));
        return [uid, pod ? { pod: filled(pod), containers: own } : { containers: own }];
      }),
    );
    const read = parseAllocations(encodeAllocations(all, all));
    assert.deepEqual(read, { kind: "read", allocations: all, groups: all });
  });
});

test("images.json: times of images", () => {
  const images = pairs(
    fc.record({
      firstDetectedMs: number,
      lastUsedMs: number,
      pullMs: fc.option(number, { nil: undefined }),
    }),
  );
  const requested = pairs(fc.record({ atMs: number, pod: text }));
  check(fc.tuple(images, requested), ([list, pods]) => {
    const written = encodeKept({ images: new Map(list) as never, requested: new Map(pods) });
    const read = decodeKept(written, NOW_MS);
    assert.ok(read);
    const isTime = (value: number) => Number.isFinite(value) && value >= 0;
    const usable = list.filter(([, of]) => isTime(of.firstDetectedMs) && isTime(of.lastUsedMs));
    assert.deepEqual([...read.images.keys()].toSorted(), usable.map(([id]) => id).toSorted());
    assert.deepEqual(
      [...read.requested.keys()].toSorted(),
      pods
        .filter(([, { atMs }]) => isTime(atMs))
        .map(([name]) => name)
        .toSorted(),
    );
    assert.deepEqual(decodeKept(encodeKept(read), NOW_MS), read);
  });
});

const plain = { noNullPrototype: true } as const;
const source = fc.record({ uid: text, namespace: text, name: text }, plain);
const access = fc.record(
  {
    kubernetesSecrets: fc.array(
      fc.tuple(source, text).map(([of, credentialHash]) => ({ ...of, credentialHash })),
      { minLength: 1, maxLength: 3 },
    ),
    kubernetesServiceAccounts: fc.array(source, { minLength: 1, maxLength: 2 }),
  },
  plain,
) satisfies fc.Arbitrary<ImageAccess>;

test("image_manager: records of pulls, whatever the clock said", () => {
  check(fc.tuple(text, pairs(access), number), ([imageRef, list, lastUpdatedMs]) => {
    const record = { imageRef, access: Object.fromEntries(list), lastUpdatedMs };
    const read = decodeRecord(encodeRecord(record));
    assert.deepEqual({ ...read, lastUpdatedMs: 0 }, { ...record, lastUpdatedMs: 0 });
    assert.ok(Number.isFinite(read?.lastUpdatedMs));
    assert.equal(decodeIntent(encodeIntent(imageRef)), imageRef);
  });
});

test("pods/<uid>/userns: ids of user namespaces", () => {
  const id = fc.integer({ min: 0, max: 2 ** 32 });
  check(fc.record({ first: id, length: id }, { noNullPrototype: true }), (range) => {
    assert.deepEqual(parseMappings(formatMappings(range)), range);
  });
});

test("last-exit: how the agent ended", () => {
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  const exit = fc.record({
    result: word.filter((result) => result !== "success"),
    code: word,
    status: fc.stringMatching(/^[A-Z0-9]{0,6}$/),
    atMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  });
  check(exit, (each) => {
    const atMs = Math.floor(each.atMs / 1000) * 1000;
    assert.deepEqual(parseLastExit(lastExitLine(each as never)), { ...each, atMs });
  });
});

/** Two runs of an agent on the same files, the second of which must have no problem with what the first has left. */
async function twoRuns(
  write: (state: StateFiles, clock: SimClock) => Promise<void>,
  read: (state: StateFiles, clock: SimClock) => Promise<void>,
): Promise<void> {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  for (const run of [write, read]) {
    const state = new StateFiles({ files, clock, log: silentLog });
    await run(state, clock);
    assert.deepEqual(state.problems.get(), []);
  }
}

const anything = fc.object({
  key: text,
  values: [text, number, fc.boolean(), fc.constant(null)],
  maxDepth: 3,
});
const checkRuns = <T>(value: fc.Arbitrary<T>, holds: (value: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(value, holds), { numRuns: RUNS / 4 });

test("graceful_node_shutdown_state: times of the last shutdown", async () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
  const times = fc.record({ startedAt: time, endedAt: fc.option(time, { nil: undefined }) });
  await checkRuns(times, async ({ startedAt, endedAt }) => {
    const written = { startedAt, ...(endedAt === undefined ? {} : { endedAt }) } as never;
    await twoRuns(
      (state) => new ShutdownState("/s", state).write(written),
      async (state) => assert.deepEqual(await new ShutdownState("/s", state).read(), written),
    );
  });
});

test("pod-statuses.jsonl: statuses, and none at all", async () => {
  const file = { name: "pod_status", path: "/n/pod-statuses.jsonl", holds: "statuses" };
  await checkRuns(pairs(anything), async (list) => {
    const values = new Map(list.map(([uid, status]) => [uid, { status: status as PodStatus }]));
    const log = (state: StateFiles) =>
      new KeyedLog<{ readonly status: PodStatus }>(
        {
          file,
          keys: () => values.keys(),
          valueOf: (uid) => values.get(uid),
          decode: (value) => value as { readonly status: PodStatus },
        },
        { state },
      );
    await twoRuns(
      async (state) => {
        const kept = log(state);
        await kept.open();
        for (const uid of values.keys()) kept.changed(uid);
        kept.changed("gone");
        assert.equal(await kept.flush(), true);
      },
      async (state) => assert.deepEqual([...(await log(state).open()).keys()], [...values.keys()]),
    );
  });
});

test("journal: decisions about subjects of any name with any inputs, at any time", async () => {
  const options = { folder: "/n/journal", segmentBytes: 500, segments: 4 };
  const decisions = fc.array(fc.tuple(text, anything, number), { maxLength: 6 });
  await checkRuns(decisions, async (list) => {
    await twoRuns(
      async (state, clock) => {
        const journal = new Journal(options, { state, clock });
        await journal.open();
        for (const [name, inputs, atMs] of list) {
          const subject = { kind: "pod", name, uid: name } as const;
          journal.record(subject, { kind: "admit", rule: name, inputs } as never, atMs);
        }
        await journal.flush();
      },
      async (state, clock) => {
        const journal = new Journal(options, { state, clock });
        await journal.open();
        await journal.read({});
      },
    );
  });
});

test("events: a history of events of any content", async () => {
  const event = fc.tuple(text, text, text, anything).map(
    ([name, namespace, message, more]) =>
      ({
        ...more,
        metadata: { name, namespace },
        involvedObject: more,
        message,
      }) as unknown as CoreEvent,
  );
  await checkRuns(fc.array(event, { maxLength: 6 }), async (list) => {
    const open = async (state: StateFiles, clock: SimClock) => {
      const history = new History({ folder: "/n/events", bytes: 4_000 }, { state, clock });
      await history.open();
      return history;
    };
    await twoRuns(
      async (state, clock) => {
        const history = await open(state, clock);
        for (const each of list) {
          history.keep(each, { event: each, combined: false, filtered: true } as never);
          history.follow(each, "dropped");
        }
        await history.flush();
      },
      async (state, clock) => void (await open(state, clock)),
    );
  });
});

test("no file is written that is longer than what is read back", async () => {
  const clock = new SimClock();
  const files = new FakeFiles({ wall: () => clock.wall(), fault: () => undefined });
  const state = new StateFiles({ files, clock, log: silentLog });
  const file = { name: "x", path: "/x", holds: "much" };
  const read = () => state.read(file, 10, (value) => ({ kind: "read", value }));
  assert.equal(await read(), undefined);
  await state.write(file, "ü".repeat(5), 0o600);
  await assert.rejects(state.write(file, `${"ü".repeat(5)}x`, 0o600), /it would have 11 bytes/);
  assert.equal(state.problems.get()[0]?.kind, "unwritten");
  assert.equal(await read(), "ü".repeat(5), "what was there stays");
});
