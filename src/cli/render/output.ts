// pure
/** The forms that `-o` offers. */
import { dumpYaml } from "../../api/text/yaml.ts";

/** Forms of output; a table when none is asked for. */
export const OUTPUT_FORMS = ["wide", "json", "yaml", "name"] as const;
/** One of them. */
export type OutputForm = (typeof OUTPUT_FORMS)[number];

/** JSON as kubectl indents it, with a line break at the end. */
export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 4)}\n`;
}

/** A value as JSON or YAML. */
export function encode(value: unknown, form: "json" | "yaml"): string {
  return form === "json" ? toJson(value) : dumpYaml(value);
}
