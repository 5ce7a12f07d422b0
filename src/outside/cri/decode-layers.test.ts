import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeLayers } from "./decode-layers.ts";
import { ListContainerStatsResponse } from "./generated/api.ts";

const amount = (value: bigint) => ({ value });
const TIMESTAMP = 1_790_000_000_000_000_000n;

const RESPONSE = ListContainerStatsResponse.fromPartial({
  stats: [
    {
      attributes: {
        id: "c0ffee",
        metadata: { name: "main", attempt: 3 },
        labels: { "io.kubernetes.pod.name": "web" },
        annotations: { "io.kubernetes.container.hash": "1" },
      },
      cpu: { timestamp: TIMESTAMP, usageCoreNanoSeconds: amount(5n) },
      memory: { timestamp: TIMESTAMP, workingSetBytes: amount(2n ** 40n) },
      writableLayer: {
        timestamp: TIMESTAMP,
        fsId: { mountpoint: "/var/lib/containerd" },
        usedBytes: amount(2n ** 33n),
        inodesUsed: amount(7n),
      },
      swap: { timestamp: TIMESTAMP, swapUsageBytes: amount(0n) },
    },
    // One that has just been created.
    { attributes: { id: "5a5a" } },
    {},
  ],
});

test("decodeLayers gives ids and writable layers as the generated decoder does", () => {
  const bytes = ListContainerStatsResponse.encode(RESPONSE).finish();
  const expected = ListContainerStatsResponse.decode(bytes).stats.map(
    ({ attributes, writableLayer }) => ({
      ...(attributes ? { attributes: { id: attributes.id } } : {}),
      ...(writableLayer ? { writableLayer } : {}),
    }),
  );
  assert.equal(expected.length, 3);
  assert.deepEqual(decodeLayers(bytes), expected);
  assert.deepEqual(decodeLayers(new Uint8Array()), []);
});

test("decodeLayers refuses a message that is cut off", () => {
  const bytes = ListContainerStatsResponse.encode(RESPONSE).finish();
  assert.throws(() => decodeLayers(bytes.subarray(0, bytes.length - 40)));
});
