// pure
import type { EnvValue } from "../../api/env.ts";
import type { FileKeySelector } from "../../api/generated/types.ts";

/** Sticky: each is tried where the one before has ended. */
const NOTHING = /[ \t\r]*(?:#[^\n]*)?(?:\n|$)/y;
const ENTRY = /[ \t]*([^\s=#']+)[ \t]*=[ \t]*'([^']*)'[ \t]*(?:\r?\n|$)/y;

/**
 * One variable of a file that an init container wrote: entries `NAME='value'`, in which everything between
 * the quotes counts, also over several lines; blank lines and comments (KEP-3721, EnvFiles). A missing
 * file or key is a fault unless it is optional.
 */
export function readEnvFile(
  text: string | undefined,
  { key, path, optional }: Pick<FileKeySelector, "key" | "path" | "optional">,
): EnvValue {
  const absent = (message: string): EnvValue =>
    optional === true ? { kind: "absent" } : { kind: "fault", message };
  if (text === undefined) return absent(`couldn't find file ${path}`);
  let value: string | undefined;
  for (let at = 0; at < text.length; ) {
    NOTHING.lastIndex = at;
    ENTRY.lastIndex = at;
    const blank = NOTHING.exec(text);
    const entry = blank ? undefined : ENTRY.exec(text);
    if (!blank && !entry) {
      const line = text.slice(0, at).split("\n").length;
      return { kind: "fault", message: `couldn't parse line ${line} of env file ${path}` };
    }
    if (entry?.[1] === key) value = entry[2];
    at += Math.max(1, (blank ?? entry)?.[0].length ?? 1);
  }
  return value === undefined
    ? absent(`environment variable key "${key}" not found in file "${path}"`)
    : { kind: "value", value };
}
