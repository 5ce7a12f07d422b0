// pure
const TRUE = new Set("y Y yes Yes YES true True TRUE on On ON".split(" "));
const FALSE = new Set("n N no No NO false False FALSE off Off OFF".split(" "));
const NULL = new Set(["", "~", "null", "Null", "NULL"]);
const SPECIAL_FLOATS: ReadonlyMap<string, number> = new Map([
  ...[".nan", ".NaN", ".NAN"].map((text) => [text, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF"].flatMap(
    (text) =>
      [
        [text, Number.POSITIVE_INFINITY],
        [`+${text}`, Number.POSITIVE_INFINITY],
        [`-${text}`, Number.NEGATIVE_INFINITY],
      ] as const,
  ),
]);

const INTEGER = /^([-+]?)(0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
/** Longer runs of digits are read as floating point, as nothing there fits 64 bits anyway. */
const MAX_INTEGER_LENGTH = 72;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

/** `null`, `true`, `yes`, `~` and so on; `undefined` when `text` is none of them. */
export function resolveBoolean(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** Whether `text` is one of the spellings of nothing. */
export const isNullText = (text: string): boolean => NULL.has(text);

/**
 * Whole numbers: decimal, `0x`, `0b`, `0o`, and a leading zero for octal (`0644` is 420). Exact: beyond
 * 2^53 a `bigint`. What does not fit 64 bits is not a whole number.
 */
export function resolveInteger(text: string): number | bigint | undefined {
  const first = text.charCodeAt(0);
  const numberLike = (first >= 48 && first <= 57) || first === 43 || first === 45;
  if (!numberLike || text.length > MAX_INTEGER_LENGTH) return undefined;
  const match = INTEGER.exec(text.replaceAll("_", ""));
  if (match === null) return undefined;
  const digits = match[2] ?? "";
  const magnitude = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  const value = match[1] === "-" ? -magnitude : magnitude;
  if (value < MIN_INT64 || value > MAX_UINT64) return undefined;
  const plain = Number(value);
  return Number.isSafeInteger(plain) ? plain : value;
}

/** Decimal fractions and exponents, `.inf` and `.nan`. */
export function resolveFloat(text: string): number | undefined {
  const special = SPECIAL_FLOATS.get(text);
  if (special !== undefined) return special;
  const first = text.charCodeAt(0);
  if (!((first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46))
    return undefined;
  const plain = text.replaceAll("_", "");
  return FLOAT.test(plain) ? Number(plain) : undefined;
}
