import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  milliOf,
  parseQuantity,
  quantityFromBytes,
  quantityFromCount,
  quantityFromMilli,
  quantityMilliValue,
  quantityValue,
  readQuantity,
  subQuantities,
  wholeOf,
} from "./quantity.ts";

const rows = readFileSync(new URL("../testdata/quantity-vectors.tsv", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => line.split("\t"));

test("parseQuantity, formatQuantity: every vector of the Go kubelet", () => {
  assert.equal(rows.length, 41);
  for (const [input = "", text, value, milli, decimal] of rows) {
    const reading = readQuantity(input);
    if (text === "ERR") {
      assert.deepEqual(reading, { kind: "fault", message: value }, input);
      continue;
    }
    assert.equal(reading.kind, "quantity", input);
    const quantity = parseQuantity(input);
    assert.equal(formatQuantity(quantity), text, input);
    // The Go kubelet wraps at 64 bits; ours stays exact.
    assert.equal(BigInt.asIntN(64, quantityValue(quantity)).toString(), value, input);
    assert.equal(BigInt.asIntN(64, quantityMilliValue(quantity)).toString(), milli, input);
    assert.equal(compareQuantities(quantity, parseQuantity(decimal ?? "")), 0, input);
  }
});

test("readQuantity: numbers, odd signs, hostile texts", () => {
  const text = (input: string | number | bigint) => {
    const reading = readQuantity(input);
    return reading.kind === "quantity" ? formatQuantity(reading.quantity) : reading.message;
  };
  assert.equal(text(1), "1");
  assert.equal(text(0.1), "100m");
  assert.equal(text(1e21), "1e+21");
  assert.equal(text(9223372036854775807n), "9223372036854775807");
  assert.equal(text("1000E"), "1000E");
  assert.equal(text("-1.5Gi"), "-1536Mi");
  assert.equal(text("1e-999999999"), "1e-9");
  for (const bad of [
    "-",
    "+",
    "m",
    "Ki",
    "-",
    "m",
    "-Ki",
    "abc",
    "1 ",
    " 1",
    "1e",
    "1e99999999999999999999",
    "1e1001",
    "1mm",
    "..",
    "NaN",
    "1Ki2",
    "🙂",
  ])
    assert.equal(readQuantity(bad).kind, "fault", bad);
  assert.equal(readQuantity("9".repeat(1_000_000)).kind, "fault");
  assert.equal(readQuantity(`1${"e".repeat(1000)}`).kind, "fault");
  assert.throws(() => parseQuantity("x"), /"x": quantities must match/);
});

test("quantityFrom…: formatting", () => {
  assert.equal(formatQuantity(quantityFromMilli(1500)), "1500m");
  assert.equal(formatQuantity(quantityFromMilli(2000)), "2");
  assert.equal(formatQuantity(quantityFromBytes(1536)), "1536");
  assert.equal(formatQuantity(quantityFromBytes(1024)), "1Ki");
  assert.equal(formatQuantity(quantityFromBytes(512)), "512");
  assert.equal(formatQuantity(quantityFromBytes(8589934592n)), "8Gi");
  assert.equal(formatQuantity(quantityFromBytes(2n ** 70n)), "1024Ei");
  assert.equal(formatQuantity(quantityFromCount(110)), "110");
  assert.equal(formatQuantity(quantityFromCount(0)), "0");
});

const anyQuantity = fc
  .record({
    sign: fc.constantFrom("", "-", "+"),
    whole: fc.bigInt({ min: 0n, max: 10n ** 20n }),
    fraction: fc.option(fc.stringMatching(/^[0-9]{0,12}$/), { nil: undefined }),
    suffix: fc.constantFrom(
      ...["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
      ...["e3", "E-2", "e+1"],
    ),
  })
  .map((p) => `${p.sign}${p.whole}${p.fraction === undefined ? "" : `.${p.fraction}`}${p.suffix}`);

test("quantity: writing and reading again changes nothing (property)", () => {
  fc.assert(
    fc.property(anyQuantity, (text) => {
      const quantity = parseQuantity(text);
      const canonical = canonicalQuantity(quantity);
      const again = parseQuantity(canonical);
      // Binary quantities are capped when read, sums and parsed values below the cap are not touched.
      assert.equal(compareQuantities(again, quantity), 0);
      assert.equal(canonicalQuantity(again), canonical);
      assert.equal(compareQuantities(parseQuantity(formatQuantity(quantity)), quantity), 0);
    }),
  );
});

test("quantity: addition and comparison agree (property)", () => {
  fc.assert(
    fc.property(anyQuantity, anyQuantity, anyQuantity, (x, y, z) => {
      const [a, b, c] = [parseQuantity(x), parseQuantity(y), parseQuantity(z)];
      assert.equal(compareQuantities(addQuantities(a, b), addQuantities(b, a)), 0);
      assert.equal(compareQuantities(subQuantities(addQuantities(a, b), b), a), 0);
      assert.equal(
        compareQuantities(addQuantities(a, c), addQuantities(b, c)),
        compareQuantities(a, b),
      );
      assert.equal(isZeroQuantity(subQuantities(a, a)), true);
      assert.equal(compareQuantities(a, b), -compareQuantities(b, a) + 0);
    }),
  );
});

test("milliOf, wholeOf: the short ways agree with the exact ones (property)", () => {
  const clamp = (n: bigint) =>
    n > BigInt(Number.MAX_SAFE_INTEGER)
      ? Number.MAX_SAFE_INTEGER
      : n < BigInt(Number.MIN_SAFE_INTEGER)
        ? Number.MIN_SAFE_INTEGER
        : Number(n);
  fc.assert(
    fc.property(
      fc.oneof(
        anyQuantity,
        fc
          .tuple(fc.nat(10 ** 15), fc.constantFrom("", "m", "Ki", "Mi", "Gi"))
          .map(([n, suffix]) => `${n}${suffix}`),
      ),
      (text) => {
        assert.equal(milliOf(text), clamp(quantityMilliValue(parseQuantity(text))));
        assert.equal(wholeOf(text), clamp(quantityValue(parseQuantity(text))));
      },
    ),
  );
  assert.equal(wholeOf("1.5Gi"), 1610612736);
  assert.equal(milliOf("0.1"), 100);
  assert.throws(() => wholeOf("m"), /unable to parse|quantities must match/);
});
