import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  milliCpuToQuota,
  milliCpuToShares,
  quotaToMilliCpu,
  sharesToMilliCpu,
  sharesToRuntimeWeight,
  sharesToWeight,
  systemdQuota,
  weightToShares,
} from "./convert.ts";

/** Milli-CPU, shares, weight of the kubelet, weight of newer runtimes, shares from the kubelet's weight. */
const VECTORS = [
  [0, 2, 1, 1, 2],
  [1, 2, 1, 1, 2],
  [3, 3, 1, 2, 2],
  [10, 10, 1, 4, 2],
  [50, 51, 2, 11, 28],
  [100, 102, 4, 17, 80],
  [200, 204, 8, 29, 185],
  [250, 256, 10, 35, 237],
  [500, 512, 20, 59, 500],
  [750, 768, 30, 80, 762],
  [1000, 1024, 39, 100, 998],
  [1500, 1536, 59, 138, 1522],
  [2000, 2048, 79, 174, 2046],
  [3000, 3072, 118, 240, 3069],
  [4000, 4096, 157, 303, 4091],
  [8000, 8192, 313, 532, 8181],
  [16_000, 16_384, 625, 942, 16_361],
  [256_000, 262_144, 10_000, 10_000, 262_144],
  [1_000_000, 262_144, 10_000, 10_000, 262_144],
] as const;

test("milli-CPU, shares and both weights", () => {
  for (const [milli, shares, weight, runtimeWeight, back] of VECTORS) {
    assert.equal(milliCpuToShares(milli), shares, `shares of ${milli}m`);
    assert.equal(sharesToWeight(shares), weight, `weight of ${milli}m`);
    assert.equal(sharesToRuntimeWeight(shares), runtimeWeight, `runtime weight of ${milli}m`);
    assert.equal(weightToShares(weight), back, `shares of weight ${weight}`);
  }
  assert.equal(sharesToWeight(0), 0);
  assert.equal(sharesToRuntimeWeight(0), 0);
});

test("reading a request back from v2 loses some of it", () => {
  assert.equal(sharesToMilliCpu(998), 975);
  assert.equal(sharesToMilliCpu(1024), 1000);
  assert.equal(sharesToMilliCpu(2), 2);
  assert.equal(sharesToMilliCpu(1), 0);
});

test("quota of a period, at least a millisecond, 0 for none", () => {
  for (const [milli, period, quota] of [
    [0, 100_000, 0],
    [1, 100_000, 1000],
    [5, 100_000, 1000],
    [10, 100_000, 1000],
    [11, 100_000, 1100],
    [1000, 100_000, 100_000],
    [1500, 100_000, 150_000],
    [333, 100_000, 33_300],
    [1000, 5000, 5000],
    [1, 1_000_000, 1000],
    [3000, 1_000_000, 3_000_000],
  ] as const) {
    assert.equal(milliCpuToQuota(milli, period), quota, `${milli}m in ${period}`);
  }
  assert.equal(quotaToMilliCpu(150_000, 100_000), 1500);
  assert.equal(quotaToMilliCpu(-1, 100_000), 0);
});

test("a quota of any limit is one that the kernel takes, also under systemd", () => {
  for (const period of [1_000, 100_000, 1_000_000]) {
    const quota = milliCpuToQuota(Number.MAX_SAFE_INTEGER, period);
    assert.ok(quota < 2 ** 44 && Number.isInteger(quota), String(quota));
    assert.ok(systemdQuota(quota, period).quotaUs < 2 ** 44);
  }
});

test("systemdQuota rounds up to whole percents", () => {
  for (const [quota, perSecondUs, kept] of [
    [33_300, 340_000, 34_000],
    [12_345, 130_000, 13_000],
    [1500, 20_000, 2000],
    [100_000, 1_000_000, 100_000],
    [300_000, 3_000_000, 300_000],
  ] as const) {
    assert.deepEqual(systemdQuota(quota, 100_000), { perSecondUs, quotaUs: kept });
  }
});

const milli = fc.integer({ min: 0, max: 512_000 });
const periodUs = fc.integer({ min: 1000, max: 1_000_000 });

test("every conversion is monotone and stays within the kernel's bounds", () => {
  fc.assert(
    fc.property(milli, milli, periodUs, (a, b, period) => {
      const [less, more] = a < b ? [a, b] : [b, a];
      const shares = [milliCpuToShares(less), milliCpuToShares(more)] as const;
      const weights = shares.map(sharesToWeight);
      const runtimeWeights = shares.map(sharesToRuntimeWeight);
      const quotas = [milliCpuToQuota(less, period), milliCpuToQuota(more, period)];
      for (const pair of [shares, weights, runtimeWeights, quotas]) {
        assert.ok((pair[0] ?? 0) <= (pair[1] ?? 0), String(pair));
      }
      assert.ok(shares.every((share) => share >= 2 && share <= 262_144));
      assert.ok([...weights, ...runtimeWeights].every((w) => w >= 1 && w <= 10_000));
      assert.ok(quotas.every((quota) => quota === 0 || quota >= 1000));
    }),
  );
});

test("converting back never gives more than what was there, apart from the floors", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 262_144 }), (shares) => {
      const back = weightToShares(sharesToWeight(shares));
      assert.ok(back <= shares && back > shares - 53, `${shares} came back as ${back}`);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 512_000 }), (amount) => {
      assert.equal(quotaToMilliCpu(milliCpuToQuota(amount, 100_000), 100_000), amount);
    }),
  );
});

test("systemdQuota never takes time away and never adds a whole percent", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 10_000_000 }), (quota) => {
      const { perSecondUs, quotaUs } = systemdQuota(quota, 100_000);
      assert.ok(quotaUs >= quota && quotaUs < quota + 1000);
      assert.equal(perSecondUs % 10_000, 0);
    }),
  );
});
