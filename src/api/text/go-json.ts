// pure

/** Go's `encoding/json` escapes these even in plain strings. */
const GO_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["<", "\\u003c"],
  [">", "\\u003e"],
  ["&", "\\u0026"],
  ["\u2028", "\\u2028"],
  ["\u2029", "\\u2029"],
]);

/** `JSON.stringify` with the escapes of Go. */
export const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (c) => GO_ESCAPES.get(c) ?? c);
