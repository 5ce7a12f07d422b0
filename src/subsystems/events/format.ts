// pure

/** Arguments of a format. */
export type FormatValue = unknown;

const VERB = /%([+#-]*)(\d{0,3})(?:\.(\d{1,2}))?([sdvqtxfw%])/g;

/**
 * A text with values put in, for the verbs of Go's fmt that messages use: `%s %v %w %d %q %t %x %f %%`, with
 * width and precision. As there, what is missing or left over is shown in the text; it never throws.
 */
export function formatMessage(format: string, values: readonly FormatValue[]): string {
  let used = 0;
  const text = format.replace(VERB, (...match: readonly string[]) => {
    const [, flags = "", width = "", precision, verb = ""] = match;
    if (verb === "%") return "%";
    if (used >= values.length) return `%!${verb}(MISSING)`;
    const value = values[used];
    used += 1;
    const shown = formatValue(verb, value, precision === undefined ? undefined : Number(precision));
    return flags.includes("-") ? shown.padEnd(Number(width)) : shown.padStart(Number(width));
  });
  if (used === values.length) return text;
  const extra = values.slice(used).map((value) => `${typeof value}=${show(value)}`);
  return `${text}%!(EXTRA ${extra.join(", ")})`;
}

/** Default number of digits after the point. */
const FRACTION_DIGITS = 6;

function formatValue(verb: string, value: FormatValue, precision: number | undefined): string {
  switch (verb) {
    case "q":
      return JSON.stringify(show(value));
    case "x":
      return typeof value === "number" || typeof value === "bigint"
        ? value.toString(16)
        : show(value);
    case "f":
      return typeof value === "number" ? value.toFixed(precision ?? FRACTION_DIGITS) : show(value);
    case "s":
      return precision === undefined ? show(value) : [...show(value)].slice(0, precision).join("");
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
