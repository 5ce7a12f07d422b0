import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { PodUid } from "../../../api/observation.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { CheckpointEncoder, decodeCheckpoint, type KeptDevices } from "./checkpoint.ts";
import type { Holding } from "./ledger.ts";

/** Data as the Go kubelet writes it, with the checksum its algorithm gives. */
const VECTORS: Readonly<Record<string, readonly [data: string, checksum: number]>> = {
  "one entry": [
    '{"PodDeviceEntries":[{"PodUID":"pod1","ContainerName":"con1","ResourceName":"domain1.com/resource1","DeviceIDs":{"0":["dev1","dev2"]},"AllocResp":"CgYKAUESAUI="}],"RegisteredDevices":{"domain1.com/resource1":["dev1","dev2","dev3"]}}',
    2590541561,
  ],
  "no entries": ['{"PodDeviceEntries":null,"RegisteredDevices":{}}', 3467439661],
  "an empty list of entries": ['{"PodDeviceEntries":[],"RegisteredDevices":{}}', 2932075448],
};

const file = (data: string, checksum: number) => `{"Data":${data},"Checksum":${checksum}}`;

for (const [name, [data, checksum]] of Object.entries(VECTORS)) {
  test(`decodeCheckpoint reads the Go kubelet's file with ${name}`, () => {
    assert.equal(decodeCheckpoint(file(data, checksum)).kind, "read");
    const wrong = decodeCheckpoint(file(data, checksum + 1));
    assert.deepEqual(wrong, {
      kind: "broken",
      why: `the checksum is ${checksum + 1} and should be ${checksum}`,
    });
  });
}

test("decodeCheckpoint gives what the Go kubelet wrote", () => {
  const read = decodeCheckpoint(file(...(VECTORS["one entry"] ?? ["", 0])));
  assert.ok(read.kind === "read");
  assert.deepEqual(
    read.kept.registered,
    new Map([["domain1.com/resource1", ["dev1", "dev2", "dev3"]]]),
  );
  assert.deepEqual(
    read.kept.holdings.map(({ answer, ...rest }) => ({ ...rest, answer: [...(answer ?? [])] })),
    [
      {
        podUid: "pod1",
        container: "con1",
        resource: "domain1.com/resource1",
        devices: [
          { id: "dev1", nodes: [0] },
          { id: "dev2", nodes: [0] },
        ],
        state: "granted",
        since: undefined,
        answer: [10, 6, 10, 1, 65, 18, 1, 66],
      },
    ],
  );
});

test("CheckpointEncoder writes data as the Go kubelet does, checksum included", () => {
  for (const name of ["one entry", "no entries"]) {
    const [data = "", checksum = 0] = VECTORS[name] ?? [];
    const read = decodeCheckpoint(file(data, checksum));
    assert.ok(read.kind === "read");
    const written = JSON.parse(new CheckpointEncoder().encode(read.kept)) as {
      Data: unknown;
      Checksum: number;
    };
    assert.deepEqual(written.Data, JSON.parse(data));
    assert.equal(written.Checksum, checksum);
  }
});

const BROKEN: Readonly<Record<string, string>> = {
  "an empty file": "",
  "half a file": file(...(VECTORS["one entry"] ?? ["", 0])).slice(0, 100),
  "another kind of file": "[]",
  "a file without data": '{"Checksum":0}',
  "the format before NUMA nodes": file(
    '{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"r","DeviceIDs":["d"],"AllocResp":""}],"RegisteredDevices":{}}',
    0,
  ),
  "numbers for texts": file('{"PodDeviceEntries":[{"PodUID":1}],"RegisteredDevices":{}}', 0),
  "a text for a node": file(
    '{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"r","DeviceIDs":{"x":["d"]},"AllocResp":""}],"RegisteredDevices":{}}',
    0,
  ),
  "a list for a map": file('{"PodDeviceEntries":null,"RegisteredDevices":[]}', 3467439661),
  "what is not base64": file(
    '{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"r","DeviceIDs":{"0":["d"]},"AllocResp":"%%"}],"RegisteredDevices":{}}',
    0,
  ),
};

for (const [name, text] of Object.entries(BROKEN)) {
  test(`decodeCheckpoint says that ${name} is broken`, () => {
    assert.equal(decodeCheckpoint(text).kind, "broken");
  });
}

const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
const holding: fc.Arbitrary<Holding> = fc
  .record(
    {
      podUid: name,
      container: name,
      resource: name,
      ids: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
      nodes: fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { maxLength: 3 }),
      answer: fc.option(fc.uint8Array({ maxLength: 12 }), { nil: undefined }),
      since: fc.option(fc.nat(), { nil: undefined }),
    },
    { noNullPrototype: true },
  )
  .map(({ ids, nodes, podUid, since, ...rest }) => ({
    ...rest,
    podUid: podUid as PodUid,
    devices: ids.sort().map((id) => ({ id, nodes: nodes.toSorted((a, b) => a - b) })),
    state: "granted" as const,
    since: since as WallMs | undefined,
  }));

const kept: fc.Arbitrary<KeptDevices> = fc.record(
  {
    holdings: fc.uniqueArray(holding, {
      maxLength: 5,
      selector: ({ podUid, container, resource }) => `${podUid}/${container}/${resource}`,
    }),
    registered: fc
      .uniqueArray(fc.tuple(name, fc.array(name, { maxLength: 3 })), {
        maxLength: 3,
        selector: ([r]) => r,
      })
      .map((list) => new Map(list)),
    preStart: fc
      .uniqueArray(fc.tuple(name, fc.boolean()), { maxLength: 3, selector: ([r]) => r })
      .map((list) => new Map(list)),
  },
  { noNullPrototype: true },
);

test("decodeCheckpoint reads what CheckpointEncoder writes", () => {
  fc.assert(
    fc.property(kept, (data) => {
      const read = decodeCheckpoint(new CheckpointEncoder().encode(data));
      assert.ok(read.kind === "read", read.kind === "broken" ? read.why : "");
      const plain = (devices: KeptDevices) => ({
        ...devices,
        registered: [...devices.registered].sort(),
        preStart: [...devices.preStart].sort(),
        holdings: devices.holdings.map(({ answer, ...rest }) => ({
          ...rest,
          answer: answer && [...answer],
        })),
      });
      assert.deepEqual(plain(read.kept), plain(data));
    }),
  );
});

test("CheckpointEncoder writes the same whatever it wrote before", () => {
  fc.assert(
    fc.property(
      fc.array(holding, { maxLength: 12 }),
      fc.array(fc.nat(11), { maxLength: 8 }),
      (pool, steps) => {
        const encoder = new CheckpointEncoder();
        let holdings: readonly Holding[] = pool;
        for (const step of steps) {
          holdings =
            step % 2 === 0
              ? holdings.filter((_, i) => i !== step)
              : [...holdings, ...pool.slice(step)];
          const data = { holdings, registered: new Map(), preStart: new Map() };
          assert.equal(encoder.encode(data), new CheckpointEncoder().encode(data));
        }
      },
    ),
  );
});
