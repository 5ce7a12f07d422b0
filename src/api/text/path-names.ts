// pure
import { byteLength } from "./names.ts";

/** Longest name of a file (NAME_MAX), in bytes of UTF-8. */
const MAX_NAME_BYTES = 255;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const UNSAFE = /[/\u0000-\u001f\u007f]/;

/**
 * Whether a name from outside may become one part of a path, and with that part of the name of a cgroup, a log or an
 * argument: it leads neither up nor down, is not hidden in a control character, and the kernel takes it. The one check for all
 * of them; the places are listed in `test/contracts/outside-names.test.ts`.
 */
export function isFileName(text: string): boolean {
  if (text === "" || text === "." || text === ".." || UNSAFE.test(text)) return false;
  // No character takes more than three bytes for each of its units in a JavaScript text.
  return text.length * 3 <= MAX_NAME_BYTES || byteLength(text) <= MAX_NAME_BYTES;
}

/** Whether a path from outside stays below the folder it is appended to: names only, one after the other. */
export function isPathBelow(text: string): boolean {
  return text.split("/").every(isFileName);
}
