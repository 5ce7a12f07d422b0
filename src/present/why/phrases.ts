// pure
import { oneLine } from "../text.ts";

/** Names shown one by one; of more than that only how many there are. */
const MAX_NAMES = 8;

/** Names in a row, at most eight of them. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  const rest = names.length - MAX_NAMES;
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

/** The text with exactly one full stop. */
export function sentence(text: string): string {
  return `${oneLine(text).replace(/\.+$/, "")}.`;
}

/** A UID shortened, still distinct from others. */
export function shortUid(uid: string): string {
  return uid.length > 8 ? `${uid.slice(0, 8)}…` : uid;
}
