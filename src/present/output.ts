// pure
/** The forms that `-o` offers. */
import { dumpYaml } from "../api/text/yaml.ts";

/** Forms of output; a table when none is asked for. */
export const OUTPUT_FORMS = ["wide", "json", "yaml", "name"] as const;
/** One of them. */
export type OutputForm = (typeof OUTPUT_FORMS)[number];

/** What steers a terminal and JSON leaves as it is: DEL, C1 controls, directions of writing. */
const STEERING = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** JSON as kubectl indents it, with a line break at the end. */
export function toJson(value: unknown): string {
  const escaped = JSON.stringify(value, null, 4).replace(
    STEERING,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${escaped}\n`;
}

/** A value as JSON or YAML. */
export function encode(value: unknown, form: "json" | "yaml"): string {
  return form === "json" ? toJson(value) : dumpYaml(value);
}
