// pure

/** What a format may be given. */
export type FormatValue = unknown;

const VERB = /%([sdvqtxf%])/g;

/**
 * A text with values put in, for the verbs of Go's fmt that messages use: `%s %v %d %q %t %x %f %%`. As
 * there, what is missing or left over is shown in the text; it never throws.
 */
export function formatMessage(format: string, values: readonly FormatValue[]): string {
  let used = 0;
  const text = format.replace(VERB, (_, verb: string) => {
    if (verb === "%") return "%";
    if (used >= values.length) return `%!${verb}(MISSING)`;
    const value = values[used];
    used += 1;
    return formatValue(verb, value);
  });
  if (used === values.length) return text;
  const extra = values.slice(used).map((value) => `${typeof value}=${show(value)}`);
  return `${text}%!(EXTRA ${extra.join(", ")})`;
}

function formatValue(verb: string, value: FormatValue): string {
  switch (verb) {
    case "q":
      return JSON.stringify(show(value));
    case "x":
      return typeof value === "number" || typeof value === "bigint"
        ? value.toString(16)
        : show(value);
    case "f":
      return typeof value === "number" ? value.toFixed(6) : show(value);
    default:
      return show(value);
  }
}

function show(value: FormatValue): string {
  try {
    if (value instanceof Error) return value.message;
    if (value === undefined || value === null) return "<nil>";
    if (typeof value === "object") return JSON.stringify(value) ?? String(value);
    return String(value);
  } catch {
    return "<unprintable>";
  }
}
