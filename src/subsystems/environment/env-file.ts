// pure
import type { EnvValue } from "../../api/env/env.ts";
import type { FileKeySelector } from "../../api/generated/types.ts";

/** Value of a name in a file, or the line that cannot be parsed and why. */
type Found =
  | { readonly kind: "value"; readonly value: string }
  | { readonly kind: "absent" }
  | { readonly kind: "broken"; readonly line: number; readonly why: string };

/**
 * One variable of a file that an init container wrote: entries `NAME='value'`, in which everything between
 * the quotes counts, also over several lines; blank lines and comments (KEP-3721, EnvFiles; kubelet
 * util/env ParseEnv). The first entry of the name counts, and what comes after it is not read. A
 * missing file or key is a fault unless it is optional.
 */
export function readEnvFile(
  text: string | undefined,
  { key, path, optional }: Pick<FileKeySelector, "key" | "path" | "optional">,
): EnvValue {
  const absent = (message: string): EnvValue =>
    optional === true ? { kind: "absent" } : { kind: "fault", message };
  if (text === undefined) return absent(`couldn't find file ${path}`);
  const found = findValue(text, key);
  switch (found.kind) {
    case "value":
      return found;
    case "absent":
      return absent(`environment variable key "${key}" not found in file "${path}"`);
    case "broken": {
      const message = `couldn't parse line ${found.line} of env file ${path}: ${found.why}`;
      return { kind: "fault", message };
    }
    default:
      return found satisfies never;
  }
}

function findValue(text: string, key: string): Found {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? "").replace(/^[ \t]+/, "");
    if (line === "" || line.startsWith("#")) continue;
    const broken = (why: string): Found => ({ kind: "broken", line: at + 1, why });
    const equals = line.indexOf("=");
    const name = line.slice(0, Math.max(equals, 0));
    const rest = line.slice(equals + 1);
    const problem = equals < 0 ? "missing '='" : problemOfName(name);
    if (problem !== undefined) return broken(problem);
    // As a shell reads it: the name gets nothing, and what follows is something else.
    if (/^[ \t]/.test(rest)) {
      if (name === key) return { kind: "value", value: "" };
      continue;
    }
    if (!rest.startsWith("'")) return broken("value must be enclosed in single quotes");
    const value = quoted([rest.slice(1), ...lines.slice(at + 1)]);
    if (!value) return broken("unclosed single quote");
    at += value.lines - 1;
    if (!/^[ \t]*(#|$)/.test(value.after)) return broken("unexpected content after closing quote");
    if (name === key) return { kind: "value", value: value.text };
  }
  return { kind: "absent" };
}

function problemOfName(name: string): string | undefined {
  if (name.trim() === "") return "empty variable name";
  return /[ \t]$/.test(name) ? "whitespace before '=' is not allowed" : undefined;
}

/** Text before the closing quote, its number of lines, and the rest of the last line. */
function quoted(
  lines: readonly string[],
): { readonly text: string; readonly lines: number; readonly after: string } | undefined {
  const last = lines.findIndex((line) => line.includes("'"));
  if (last < 0) return undefined;
  const line = lines[last] ?? "";
  const end = line.indexOf("'");
  const text = [...lines.slice(0, last), line.slice(0, end)].join("\n");
  return { text, lines: last + 1, after: line.slice(end + 1) };
}
