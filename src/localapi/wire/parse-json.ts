// pure

/** Deepest nesting of a body; objects of the API have some twenty levels. */
export const MAX_BODY_DEPTH = 200;

/** The value of a JSON text. Throws `SyntaxError`, also for what is nested without end: that is meant to hurt. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  checkDepth(value, MAX_BODY_DEPTH);
  return value;
}

/** Refuses JSON nested deeper than `left` levels. Throws `SyntaxError`. */
function checkDepth(value: unknown, left: number): void {
  if (typeof value !== "object" || value === null) return;
  if (left === 0) throw new SyntaxError(`nested deeper than ${MAX_BODY_DEPTH} levels`);
  for (const child of Object.values(value)) checkDepth(child, left - 1);
}
