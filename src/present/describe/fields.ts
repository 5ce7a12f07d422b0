// pure
/** Labelled values below each other, as `kubectl describe` shows them. */
import { largest } from "../../kit/limits/lists.ts";
import { padText, textWidth, withoutControls } from "../text.ts";

/** A label with a text, several texts below each other, or further fields. */
export interface ShownField {
  readonly label: string;
  readonly value: string | readonly string[] | readonly ShownField[];
}

/** A field, in short. */
export function field(label: string, value: ShownField["value"] | undefined): ShownField {
  return { label, value: value === undefined || value === "" ? "<none>" : value };
}

/** The fields as lines, values of one level aligned. */
export function renderFields(fields: readonly ShownField[], indent = ""): readonly string[] {
  const widths = fields
    .filter(({ value }) => !isNested(value))
    .map(({ label }) => textWidth(label));
  const column = largest(widths, 0) + 3;
  return fields.flatMap(({ label, value }) => {
    const name = `${withoutControls(label)}:`;
    if (isNested(value)) return [`${indent}${name}`, ...renderFields(value, `${indent}  `)];
    const texts = typeof value === "string" ? value.split("\n") : value;
    const [first = "<none>", ...more] = texts.map(withoutControls);
    return [
      `${indent}${padText(name, column)}${first}`.trimEnd(),
      ...more.map((text) => `${indent}${" ".repeat(column)}${text}`),
    ];
  });
}

function isNested(value: ShownField["value"]): value is readonly ShownField[] {
  return Array.isArray(value) && value.length > 0 && typeof value[0] === "object";
}

/** `a=b` pairs below each other, sorted; `undefined` when there are none. */
export function pairs(
  map: Readonly<Record<string, string>> | undefined,
  separator = "=",
): readonly string[] | undefined {
  const entries = Object.entries(map ?? {});
  if (entries.length === 0) return undefined;
  return entries.map(([name, value]) => `${name}${separator}${value}`).toSorted();
}
