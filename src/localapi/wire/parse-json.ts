// pure

/** Deepest nesting of a body; objects of the API have some twenty levels. */
const MAX_BODY_DEPTH = 200;

/** Digits of numbers that may be beyond 2^53. */
const LONG_NUMBER = /\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * The value of a JSON text; whole numbers beyond 2^53 are exact, as `bigint`, like those of YAML. Throws `SyntaxError`, also for what is nested without end: that is meant to hurt. */
export function parseJson(text: string): unknown {
  const value: unknown = LONG_NUMBER.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
  checkDepth(value, MAX_BODY_DEPTH);
  return value;
}

function exactInteger(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return INTEGER.test(source) ? BigInt(source) : value;
}

/** Refuses JSON nested deeper than `left` levels. Throws `SyntaxError`. */
function checkDepth(value: unknown, left: number): void {
  if (typeof value !== "object" || value === null) return;
  if (left === 0) throw new SyntaxError(`nested deeper than ${MAX_BODY_DEPTH} levels`);
  for (const child of Object.values(value)) checkDepth(child, left - 1);
}
