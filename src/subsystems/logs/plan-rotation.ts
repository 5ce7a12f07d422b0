// pure

import type { WallMs } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";

/** Steps of rotating the files of one log, in this order. */
export interface RotationPlan {
  /** Names of leftovers and of what is too old. */
  readonly remove: readonly string[];
  /** Names of plain files that are to be zipped, each to its name with `.gz`. */
  readonly zip: readonly string[];
  /** The name that the current file gets. */
  readonly renameTo: string;
}

const ROTATED = /^\d{8}-\d{6}(\.gz)?$/;
const UNFINISHED = ".tmp";
const ZIPPED = ".gz";

/**
 * Plans the rotation of the log `name` among the files `siblings` of its folder (container_log_manager.go
 * rotateLog): unfinished copies go, and plain files that are zipped already; of the rotated ones
 * `maxFiles - 2` stay, as the current file becomes one and a new current one is made; they are
 * zipped, so that only the one that was current a moment ago stays plain. Files that no kubelet has made are left alone.
 */
export function planRotation(
  name: string,
  siblings: readonly string[],
  { maxFiles, localNow }: { readonly maxFiles: number; readonly localNow: WallMs },
): RotationPlan {
  const own = siblings.filter((sibling) => sibling.startsWith(`${name}.`));
  const unfinished = own.filter((sibling) => sibling.endsWith(UNFINISHED));
  const rotated = own.filter((sibling) => ROTATED.test(sibling.slice(name.length + 1)));
  const all = new Set(rotated);
  const doubled = rotated.filter((sibling) => all.has(`${sibling}${ZIPPED}`));
  const kept = rotated.filter((sibling) => !all.has(`${sibling}${ZIPPED}`)).sort();
  const excess = kept.slice(0, Math.max(0, kept.length - Math.max(0, maxFiles - 2)));
  const stay = kept.slice(excess.length);
  return {
    remove: [...unfinished, ...doubled, ...excess],
    zip: stay.filter((sibling) => !sibling.endsWith(ZIPPED)),
    renameTo: `${name}.${nextSuffix(
      localNow,
      rotated.map((sibling) => sibling.slice(name.length + 1)),
    )}`,
  };
}

const SECOND_MS = 1_000;

/**
 * `YYYYMMDD-hhmmss`, later than all that are there: clocks are set back, in autumn too, two may come in one
 * second, and files are read and removed in the order of their names.
 */
function nextSuffix(localNow: WallMs, present: readonly string[]): string {
  const latest = largest(present.map(timeOf), 0);
  return timeSuffix(Math.max(localNow, latest + SECOND_MS));
}

function timeOf(suffix: string): number {
  const [, date = "", time = ""] = /^(\d{8})-(\d{6})/.exec(suffix) ?? [];
  const day = date.replace(/(....)(..)(..)/, "$1-$2-$3");
  const parsed = Date.parse(`${day}T${time.replace(/(..)(..)(..)/, "$1:$2:$3")}Z`);
  return Number.isNaN(parsed) ? 0 : parsed;
}

function timeSuffix(localMs: number): string {
  const [date = "", time = ""] = new Date(localMs).toISOString().slice(0, 19).split("T");
  return `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
}
