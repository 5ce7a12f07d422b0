import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

/**
 * Any code point as a text, without half surrogates: what fast-check has as the unit "binary", of which it makes a
 * map of 1.1 million entries when it is first used.
 */
export const anyCodePoint = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map(codePointText, codePointIndex);

function codePointText(index: number): string {
  return String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES);
}

function codePointIndex(text: unknown): number {
  const point = typeof text === "string" ? text.codePointAt(0) : undefined;
  if (point === undefined || text !== String.fromCodePoint(point))
    throw new Error("not one code point");
  return point < FIRST_SURROGATE ? point : point - SURROGATES;
}
